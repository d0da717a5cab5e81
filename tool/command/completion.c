/* SPDX-License-Identifier: MIT */
/*
 * `memoir completion`: one script a shell, written from the two tables. Shared by all three: words
 * of operands and flags, keys behind --set, and the values of flags and choices behind `key=`.
 */
#include <stdio.h>
#include <string.h>

#include "tool/command/arguments.h"
#include "tool/command/commands.h"
#include "tool/command/options.h"
#include "tool/report/report.h"

static void show_bash(void);
static void bash_operands(void);
static void show_zsh(void);
static void show_fish(void);
static void show_fish_verbs(void);
static void show_fish_flags(void);

bool completion_show(const struct arguments *arguments, struct error *error)
{
    const char *shell = arguments->operands[0];
    (void)error;
    if (strcmp(shell, "bash") == 0)
        show_bash();
    else if (strcmp(shell, "zsh") == 0)
        show_zsh();
    else
        show_fish();
    return true;
}

/* The words of a list joined by '|', joined by spaces. */
static void put_words(const char *words)
{
    for (; *words; words++)
        putchar(*words == '|' ? ' ' : *words);
}

static bool takes_process(const struct command *command)
{
    return command->takes == TAKES_PROCESS;
}

/* Profiles, other files, or the command line of another program, which has files. */
static bool takes_files(const struct command *command)
{
    return commands_reads(command) || command->takes == TAKES_PATH ||
           command->takes == TAKES_COMMAND_LINE;
}

static void put_verbs(void)
{
    for (size_t i = 0; i < commands_count; i++)
        printf("%s%s", i > 0 ? " " : "", commands[i].verb);
}

/* As patterns of `case`. */
static void put_verbs_that(bool (*take)(const struct command *command))
{
    bool any = false;
    for (size_t i = 0; i < commands_count; i++) {
        if (take(&commands[i]))
            printf("%s%s", any ? "|" : "", commands[i].verb);
        any = any || take(&commands[i]);
    }
}

static void put_help_words(void)
{
    put_verbs();
    for (size_t i = 0; i < commands_topics_count; i++)
        printf(" %s", commands_topics[i].name);
}

static bool takes_path(const struct command_flag *flag)
{
    return flag->takes == ARGUMENT_PATH || flag->takes == ARGUMENT_PROFILE;
}

/* The names of flags that take a file, each once. */
static void put_path_flags(void)
{
    bool any = false;
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        bool seen = !takes_path(flag);
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(commands_flags[k].name, flag->name) == 0;
        if (!seen)
            printf("%s%s", any ? "|" : "", flag->name);
        any = any || !seen;
    }
}

/* The values of an option that has a list of them, or NULL. */
static const char *option_words(const struct config_option *option)
{
    if (option->kind == CONFIG_FLAG)
        return "on|off";
    return option->kind == CONFIG_CHOICE ? option->choices : NULL;
}

/* Text inside single quotes: '...' becomes '\''. */
static void put_quoted(const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else
            printf("%s%c", strchr(escaped, *text) ? "\\" : "", *text);
    }
}

static void put_metrics(void)
{
    for (size_t i = 0; i < METRICS_COUNT; i++)
        printf("%s%s", i > 0 ? " " : "", metrics[i].word);
}

/* Flags whose argument is of one kind, as patterns of `case`. */
static void put_flags_of(enum command_argument takes)
{
    bool any = false;
    for (size_t i = 0; i < commands_flags_count; i++) {
        if (commands_flags[i].takes != takes || commands_flags[i].verb[0] != '@')
            continue;
        printf("%s%s", any ? "|" : "", commands_flags[i].name);
        any = true;
    }
}

static bool takes_function(const struct command *command)
{
    return command->takes == TAKES_PROFILES_AND_RE;
}

/* What the processes and the files of the command line have: asked when it is wanted. Names that a
 * regular expression would take for something else are left out. */
static const char helpers[] =
    /* What bash takes for names of files it quotes: of an option, `heap.rate\=`. */
    "_memoir_files()\n{\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -f -- \"${word//\\\\/}\")\n}\n\n"
    "_memoir_pids()\n{\n"
    "    grep -ls libmemoir /proc/[0-9]*/maps 2>/dev/null | sed 's|/proc/||; s|/maps||'\n}\n\n"
    "_memoir_functions()\n{\n"
    "    local word files=()\n"
    "    for word in \"$@\"; do [[ -f $word ]] && files+=(\"$word\"); done\n"
    "    memoir export \"${files[@]}\" --format folded -o - --quiet 2>/dev/null |\n"
    "        sed 's/ [0-9]*$//' | tr ';' '\\n' | grep -E '^[A-Za-z_][A-Za-z0-9_:~]*$' | sort -u\n"
    "}\n\n";

static void bash_values(void)
{
    printf("_memoir_values()\n{\n    case $1 in\n");
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        if (option_words(&config_options[i])) {
            printf("    %s) echo \"", config_options[i].key);
            put_words(option_words(&config_options[i]));
            printf("\" ;;\n");
        }
    }
    printf("    esac\n}\n\n%s", helpers);
}

/* Answers of flags, by the word before. */
static void bash_flags(void)
{
    printf("    case $before in\n"
           "    --set) compopt -o nospace 2>/dev/null\n"
           "        COMPREPLY=($(compgen -W \"$keys\" -- \"$word\")); return ;;\n"
           "    -o|");
    put_path_flags();
    printf(")\n        _memoir_files; return ;;\n    ");
    put_flags_of(ARGUMENT_METRIC);
    printf(") COMPREPLY=($(compgen -W '");
    put_metrics();
    printf("' -- \"$word\")); return ;;\n    --at|--since|--until)\n"
           "        COMPREPLY=($(compgen -W 'peak end' -- \"$word\")); return ;;\n    ");
    put_flags_of(ARGUMENT_RE);
    printf(") _memoir_function; return ;;\n"
           "    esac\n    case $verb:$before in\n");
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        if (flag->takes == ARGUMENT_CHOICE) {
            printf("    %s:%s) COMPREPLY=($(compgen -W '",
                   flag->verb[0] && flag->verb[0] != '@' ? flag->verb : "*", flag->name);
            put_words(flag->argument);
            printf("' -- \"$word\")); return ;;\n");
        }
    }
    printf("    esac\n");
}

/* bash splits words at '=' and ':': `--set heap=o` arrives as --set, heap, =, o. */
static void show_bash(void)
{
    printf("# bash completion of memoir, printed by: memoir completion bash\n");
    bash_values();
    printf("_memoir_function()\n{\n"
           "    local whole=${COMP_LINE:0:COMP_POINT} word=${COMP_WORDS[COMP_CWORD]} i\n"
           "    whole=${whole##* }\n"
           "    COMPREPLY+=($(compgen -W \"$(_memoir_functions \"${COMP_WORDS[@]:2}\")\" "
           "-- \"$whole\"))\n"
           "    for i in \"${!COMPREPLY[@]}\"; do\n"
           "        COMPREPLY[i]=${COMPREPLY[i]#\"${whole%%\"$word\"}\"}\n    done\n}\n\n"
           "_memoir()\n{\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local verb=${COMP_WORDS[1]} flags= operands= keys=");
    for (size_t i = 0; i < CONFIG_COUNT; i++)
        printf("%s%s=", i > 0 ? " " : "'", config_options[i].key);
    printf("'\n    COMPREPLY=()\n"
           "    if ((COMP_CWORD == 1)); then\n        COMPREPLY=($(compgen -W '");
    put_verbs();
    printf("' -- \"$word\"))\n        return\n    fi\n"
           "    if [[ $word == = && ${COMP_WORDS[COMP_CWORD-2]} == --set || "
           "$verb:$word == ctl:= ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$(_memoir_values \"$before\")\"))\n        return\n"
           "    elif [[ $before == = && ${COMP_WORDS[COMP_CWORD-3]} == --set || "
           "$verb:$before == ctl:= ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$(_memoir_values \"${COMP_WORDS[COMP_CWORD-2]}\")\" "
           "-- \"$word\"))\n        return\n    fi\n");
    bash_flags();
    printf("    case $verb in\n");
    for (size_t i = 0; i < commands_count; i++) {
        printf("    %s) flags='", commands[i].verb);
        for (size_t j = 0; j < commands_flags_count; j++) {
            if (commands_flag_of(&commands_flags[j], commands[i].verb, true))
                printf("%s ", commands_flags[j].name);
        }
        printf("' operands='");
        if (commands[i].takes == TAKES_VERB)
            put_help_words();
        else if (commands[i].takes != TAKES_PROGRAM && !takes_files(&commands[i]))
            put_words(commands[i].words);
        printf("' ;;\n");
    }
    bash_operands();
}

/* What is no flag and not the answer of one. */
static void bash_operands(void)
{
    printf("    esac\n"
           "    if [[ $word == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
           "    elif [[ $verb == run ]]; then\n"
           "        _memoir_files\n"
           "        COMPREPLY+=($(compgen -c -- \"$word\"))\n"
           "    elif [[ $verb == ctl ]] && ((COMP_CWORD == 2)); then\n"
           "        COMPREPLY=($(compgen -W \"$(_memoir_pids)\" -- \"$word\"))\n"
           "    elif [[ $verb:$before == ctl:dump ]]; then\n"
           "        _memoir_files\n"
           "    elif [[ $verb:$before == ctl:show ]]; then\n"
           "        COMPREPLY=($(compgen -W \"${keys//=/}\" -- \"$word\"))\n"
           "    elif [[ $verb == ctl ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$operands $keys\" -- \"$word\"))\n"
           "        [[ $COMPREPLY == *= ]] && compopt -o nospace 2>/dev/null\n"
           "    elif [[ -n $operands ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$operands\" -- \"$word\"))\n"
           "    else\n"
           "        _memoir_files\n"
           "        [[ $word == [0-9]* || $verb == @(");
    put_verbs_that(takes_process);
    printf(") ]] &&\n"
           "            COMPREPLY+=($(compgen -W \"$(_memoir_pids)\" -- \"$word\"))\n"
           "        case $verb in ");
    put_verbs_that(takes_function);
    printf(") _memoir_function ;; esac\n"
           "    fi\n}\n"
           "complete -F _memoir memoir\n");
}

/* What _arguments does for a flag's argument. */
static void zsh_action(const struct command_flag *flag)
{
    if (takes_path(flag)) {
        printf(":path:_files");
    } else if (flag->takes == ARGUMENT_SETTING) {
        printf(":option:_memoir_option");
    } else if (flag->takes == ARGUMENT_METRIC) {
        printf(":metric:(");
        put_metrics();
        printf(")");
    } else if (flag->takes == ARGUMENT_CHOICE) {
        printf(":word:(");
        put_words(flag->argument);
        printf(")");
    } else if (flag->takes != ARGUMENT_NONE) {
        printf(":value:");
    }
}

static void show_zsh(void)
{
    printf("#compdef memoir\n# zsh completion of memoir, printed by: memoir completion zsh\n"
           "_memoir_option() {\n    local -a keys values\n"
           "    if compset -P '*='; then\n        case ${IPREFIX%%=} in\n");
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        if (option_words(&config_options[i])) {
            printf("        (*=|)%s) values=(", config_options[i].key);
            put_words(option_words(&config_options[i]));
            printf(") ;;\n");
        }
    }
    printf("        esac\n        compadd -a values\n        return\n    fi\n    keys=(\n");
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        printf("        '%s:", config_options[i].key);
        put_quoted(options_docs[i].brief, ":");
        printf("'\n");
    }
    printf("    )\n    _describe -t keys option keys -S = -q\n}\n\n"
           "_memoir() {\n    local -a verbs\n    verbs=(\n");
    for (size_t i = 0; i < commands_count; i++) {
        printf("        '%s:", commands[i].verb);
        put_quoted(commands[i].brief, ":");
        printf("'\n");
    }
    printf("    )\n    if ((CURRENT == 2)); then\n        _describe -t commands command verbs\n"
           "        return\n    fi\n    local verb=$words[2]\n    shift words\n"
           "    ((CURRENT--))\n    case $verb in\n");
    for (size_t i = 0; i < commands_count; i++) {
        enum command_takes takes = commands[i].takes;
        printf("    %s)\n        _arguments", commands[i].verb);
        for (size_t j = 0; j < commands_flags_count; j++) {
            const struct command_flag *flag = &commands_flags[j];
            if (!commands_flag_of(flag, commands[i].verb, true))
                continue;
            printf(" \\\n            '%s%s[", flag->id == FLAG_SET ? "*" : "", flag->name);
            put_quoted(flag->brief, "[]:");
            printf("]");
            zsh_action(flag);
            printf("'");
        }
        if (takes == TAKES_PROGRAM)
            printf(" \\\n            '(-)1:program:_command_names -e' '*::argument:_normal'");
        else if (takes == TAKES_VERB) {
            printf(" \\\n            '1:command or topic:(");
            put_help_words();
            printf(")'");
        } else if (takes_files(&commands[i]))
            printf(" \\\n            '*:%s:_files'",
                   commands_reads(&commands[i]) ? "profile" : "file");
        else if (takes != TAKES_NOTHING) {
            printf(" \\\n            %s",
                   takes == TAKES_PROCESS ? "'1:process:_pids' '2:word:(" : "'1:word:(");
            put_words(commands[i].words);
            printf(")'");
        }
        printf("\n        ;;\n");
    }
    printf("    esac\n}\n\n"
           "if [ \"$funcstack[1]\" = _memoir ]; then\n    _memoir \"$@\"\nelse\n"
           "    compdef _memoir memoir\nfi\n");
}

static void show_fish(void)
{
    printf("# fish completion of memoir, printed by: memoir completion fish\n"
           "function __memoir_option\n");
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        const char *words = option_words(&config_options[i]);
        if (words) {
            printf("    printf '%s=%%s\\t", config_options[i].key);
            put_quoted(options_docs[i].brief, "");
            printf("\\n' ");
            put_words(words);
            printf("\n");
        } else {
            printf("    printf '%s=\\t", config_options[i].key);
            put_quoted(options_docs[i].brief, "");
            printf("\\n'\n");
        }
    }
    printf("end\n\ncomplete -c memoir -f\n");
    show_fish_verbs();
    show_fish_flags();
}

static void show_fish_verbs(void)
{
    for (size_t i = 0; i < commands_count; i++) {
        const char *verb = commands[i].verb;
        enum command_takes takes = commands[i].takes;
        printf("complete -c memoir -n __fish_use_subcommand -a %s -d '", verb);
        put_quoted(commands[i].brief, "");
        printf("'\n");
        if (takes == TAKES_NOTHING)
            continue;
        if (takes_files(&commands[i])) {
            printf("complete -c memoir -n '__fish_seen_subcommand_from %s' -F\n", verb);
            continue;
        }
        printf("complete -c memoir -n '__fish_seen_subcommand_from %s' -a '", verb);
        if (takes == TAKES_PROGRAM)
            printf("(__fish_complete_subcommand --fcs-skip=2)");
        else if (takes == TAKES_VERB)
            put_help_words();
        else
            put_words(commands[i].words);
        printf("%s'\n", takes == TAKES_PROCESS ? " (__fish_complete_pids)" : "");
    }
}

static void show_fish_flags(void)
{
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        printf("complete -c memoir ");
        if (flag->verb[0] == '@') {
            printf("-n '__fish_seen_subcommand_from");
            for (size_t k = 0; k < commands_count; k++)
                printf("%s%s", commands_reads(&commands[k]) ? " " : "",
                       commands_reads(&commands[k]) ? commands[k].verb : "");
            printf("' ");
        } else if (flag->verb[0]) {
            printf("-n '__fish_seen_subcommand_from %s' ", flag->verb);
        }
        printf("-l %s -d '", flag->name + 2);
        put_quoted(flag->brief, "");
        printf("'");
        if (takes_path(flag)) {
            printf(" -r -F");
        } else if (flag->takes == ARGUMENT_SETTING) {
            printf(" -x -a '(__memoir_option)'");
        } else if (flag->takes == ARGUMENT_METRIC) {
            printf(" -x -a '");
            put_metrics();
            printf("'");
        } else if (flag->takes == ARGUMENT_CHOICE) {
            printf(" -x -a '");
            put_words(flag->argument);
            printf("'");
        } else if (flag->takes != ARGUMENT_NONE) {
            printf(" -x");
        }
        printf("\n");
    }
}
