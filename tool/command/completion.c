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
static void bash_ctl(void);
static void show_zsh(void);
static void zsh_ctl(void);
static void show_fish(void);
static void fish_ctl(void);
static void show_fish_verbs(void);
static void show_fish_flags(void);

bool completion_show(const struct arguments *arguments, struct error *error)
{
    static const struct {
        const char *name;
        void (*show)(void);
    } shells[] = {{"bash", show_bash}, {"zsh", show_zsh}, {"fish", show_fish}};
    (void)error;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(arguments->operands[0], shells[i].name) == 0)
            shells[i].show();
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

static void put_ctl_words(void)
{
    for (size_t i = 0; i < commands_ctl_count; i++)
        printf("%s%s", i > 0 ? " " : "", commands_ctl[i].word);
}

static void put_keys(void)
{
    for (size_t i = 0; i < CONFIG_COUNT; i++)
        printf("%s%s", i > 0 ? " " : "", config_options[i].key);
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
        if (commands_flags[i].takes != takes || commands_flags[i].command != COMMAND_READERS)
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
                   flag->command < COMMAND_READERS ? commands[flag->command].verb : "*",
                   flag->name);
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
            if (commands_flag_of(&commands_flags[j], &commands[i]))
                printf("%s ", commands_flags[j].name);
        }
        printf("' operands='");
        if (commands[i].takes == TAKES_VERB)
            put_help_words();
        else if (i == COMMAND_CTL)
            put_ctl_words();
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
           "    elif [[ $verb == ctl ]] && ((COMP_CWORD == 3)); then\n"
           "        COMPREPLY=($(compgen -W \"$operands $keys\" -- \"$word\"))\n"
           "        [[ $COMPREPLY == *= ]] && compopt -o nospace 2>/dev/null\n"
           "    elif [[ $verb == ctl ]]; then\n");
    bash_ctl();
    printf("    elif [[ -n $operands ]]; then\n"
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

/* What stands behind a word of `memoir ctl PID`; a word that is none of them is a setting. */
static void bash_ctl(void)
{
    static const char *const answers[] = {
        [CTL_NOTHING] = "",
        [CTL_FILE] = " _memoir_files",
        [CTL_KEY] = " COMPREPLY=($(compgen -W \"${keys//=/}\" -- \"$word\"))",
        [CTL_SETTINGS] = " COMPREPLY=($(compgen -W \"$keys\" -- \"$word\"));"
                         " compopt -o nospace 2>/dev/null",
    };
    printf("        case ${COMP_WORDS[3]} in\n");
    for (size_t i = 0; i < commands_ctl_count; i++) {
        printf("        %s)%s", commands_ctl[i].word, answers[commands_ctl[i].follows]);
        if (commands_ctl[i].words[0]) {
            printf("%s ((COMP_CWORD == 4)) && COMPREPLY+=($(compgen -W '",
                   commands_ctl[i].follows == CTL_NOTHING ? "" : ";");
            put_words(commands_ctl[i].words);
            printf("' -- \"$word\"))");
        }
        printf(" ;;\n");
    }
    printf("        *)%s ;;\n        esac\n", answers[CTL_SETTINGS]);
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
    printf("    )\n    _describe -t keys option keys -S = -q\n}\n\n");
    zsh_ctl();
    printf("_memoir() {\n    local -a verbs\n    verbs=(\n");
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
            if (!commands_flag_of(flag, &commands[i]))
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
        else if (takes == TAKES_PROCESS)
            printf(" \\\n            '1:process:_pids'%s",
                   i == COMMAND_CTL ? " '*:::word:_memoir_ctl'" : "");
        else if (takes != TAKES_NOTHING) {
            printf(" \\\n            '1:word:(");
            put_words(commands[i].words);
            printf(")'");
        }
        printf("\n        ;;\n");
    }
    printf("    esac\n}\n\n"
           "if [ \"$funcstack[1]\" = _memoir ]; then\n    _memoir \"$@\"\nelse\n"
           "    compdef _memoir memoir\nfi\n");
}

/* $words begins behind the id of the process. */
static void zsh_ctl(void)
{
    printf("_memoir_ctl() {\n    if ((CURRENT == 1)); then\n"
           "        _alternative 'words:word:(");
    put_ctl_words();
    printf(")' 'options:option:_memoir_option'\n        return\n    fi\n    case $words[1] in\n");
    for (size_t i = 0; i < commands_ctl_count; i++) {
        const struct command_ctl *ctl = &commands_ctl[i];
        if (ctl->follows == CTL_NOTHING && ctl->words[0] == '\0')
            continue;
        printf("    %s)", ctl->word);
        if (ctl->words[0]) {
            printf(" ((CURRENT == 2)) && compadd ");
            put_words(ctl->words);
            printf(";");
        }
        if (ctl->follows == CTL_KEY) {
            printf(" compadd ");
            put_keys();
            printf(";");
        } else if (ctl->follows != CTL_NOTHING) {
            printf(" %s;", ctl->follows == CTL_FILE ? "_files" : "_memoir_option");
        }
        printf(";\n");
    }
    printf("    *=*) _memoir_option ;;\n    esac\n}\n\n");
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
    printf("end\n\n");
    fish_ctl();
    printf("complete -c memoir -f\n");
    show_fish_verbs();
    show_fish_flags();
}

/* What stands at the cursor behind `memoir ctl`: a process, a word, what follows it. */
static void fish_ctl(void)
{
    printf("function __memoir_ctl\n    set -l words (commandline -opc)\n"
           "    switch (count $words)\n    case 2\n        __fish_complete_pids\n"
           "    case 3\n        printf '%%s\\n' ");
    put_ctl_words();
    printf("\n        __memoir_option\n    case '*'\n        switch $words[4]\n");
    for (size_t i = 0; i < commands_ctl_count; i++) {
        const struct command_ctl *ctl = &commands_ctl[i];
        if (ctl->follows == CTL_NOTHING && ctl->words[0] == '\0')
            continue;
        printf("        case %s\n", ctl->word);
        if (ctl->words[0]) {
            printf("            test (count $words) -eq 4; and printf '%%s\\n' ");
            put_words(ctl->words);
            printf("\n");
        }
        if (ctl->follows == CTL_FILE)
            printf("            __fish_complete_path (commandline -ct)\n");
        else if (ctl->follows == CTL_KEY) {
            printf("            printf '%%s\\n' ");
            put_keys();
            printf("\n");
        } else if (ctl->follows == CTL_SETTINGS)
            printf("            __memoir_option\n");
    }
    printf("        case '*=*'\n            __memoir_option\n        end\n    end\nend\n\n");
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
        else if (takes == TAKES_PROCESS)
            printf("%s", i == COMMAND_CTL ? "(__memoir_ctl)" : "(__fish_complete_pids)");
        else
            put_words(commands[i].words);
        printf("'\n");
    }
}

static void show_fish_flags(void)
{
    for (size_t i = 0; i < commands_flags_count; i++) {
        const struct command_flag *flag = &commands_flags[i];
        printf("complete -c memoir ");
        if (flag->command == COMMAND_READERS) {
            printf("-n '__fish_seen_subcommand_from");
            for (size_t k = 0; k < commands_count; k++)
                printf("%s%s", commands_reads(&commands[k]) ? " " : "",
                       commands_reads(&commands[k]) ? commands[k].verb : "");
            printf("' ");
        } else if (flag->command != COMMAND_EACH) {
            printf("-n '__fish_seen_subcommand_from %s' ", commands[flag->command].verb);
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
