# SPDX-License-Identifier: MIT
"""The rows of the benchmark: what is run, and how each run is measured.

A row measures one allocator once. Micro and thread rows and plain programs are one command;
server rows start the server under the allocator, drive it with a client that is not, and take
the client's elapsed time with the server's CPU time, peak memory and page faults.
"""
import os
import re
import shutil
import subprocess
import time

from allocators import libc_path
from measure import clean_environment, failed, launch_end, launch_start, run_command


class Row:
    """One command with fixed work. `in_mean`: it counts in the means and budgets."""

    def __init__(self, name, group, what, argv, env=None, stdin=None, needs=(), same_output=False,
                 in_mean=True, rounds_max=None):
        self.name, self.group, self.what = name, group, what
        self.argv, self.env, self.stdin, self.needs = argv, env or {}, stdin, needs
        self.same_output, self.in_mean, self.rounds_max = same_output, in_mean, rounds_max

    def missing(self):
        return [need for need in self.needs if not find_program(need)]

    def prepare(self, bench):
        pass

    def facts(self):
        """What the report needs to know beyond name and samples."""
        return {}

    def measure(self, bench, allocator):
        return run_command(bench, {**self.env, **allocator.env}, self.argv, self.stdin)

    def command(self, bench, preload="$LIB"):
        words = ["%s=%s" % pair for pair in self.env.items()]
        words += ["LD_PRELOAD=" + preload] if preload else []
        words += [shell_word(word) for word in self.argv]
        return " ".join(words) + (" < " + self.stdin if self.stdin else "")


class ServerRow(Row):
    """`argv` is the server; a subclass knows when it is ready and how the client asks it."""

    def measure(self, bench, allocator):
        env = {**self.env, **self.preload(allocator)}
        log_path = os.path.join(bench.out, self.name + ".log")
        with open(log_path, "wb") as log:
            server = launch_start(bench, env, self.server(bench), stdout=log)
            client = None
            try:
                if not self.wait_ready(bench, server):
                    return failed("the server did not start; see %s" % log_path)
                start = time.monotonic()
                client = subprocess.run(self.client(bench), cwd=bench.root, capture_output=True,
                                        env=clean_environment(), timeout=120)
                wall = time.monotonic() - start
            except subprocess.TimeoutExpired:
                return failed("the client did not end in 120 s")
            finally:
                server.terminate()
                sample = launch_end(server, 30)
        sample["wall"] = wall
        if client.returncode != 0 or b"Cannot run query" in client.stderr:
            sample["ok"] = False
            sample["error"] = "client: " + client.stderr.decode(errors="replace")[-300:]
        return sample

    def preload(self, allocator):
        return allocator.env

    def wait_ready(self, bench, server):
        end = time.monotonic() + 20
        while time.monotonic() < end and server.poll() is None:
            if subprocess.run(self.ping(bench), capture_output=True,
                              env=clean_environment()).returncode == 0:
                return True
            time.sleep(0.05)
        server.terminate()
        return False

    def command(self, bench, preload="$LIB"):
        server = " ".join(["LD_PRELOAD=" + preload] * bool(preload)
                          + [shell_word(word) for word in self.server(bench)])
        client = " ".join(shell_word(word) for word in self.client(bench))
        return "%s & %s" % (server, client)


class RedisRow(ServerRow):
    """Debian links redis-server to jemalloc, so `glibc` here means libc preloaded before it."""

    def __init__(self, requests):
        super().__init__("redis", "program", "redis-server asked by redis-benchmark", [],
                         needs=("redis-server", "redis-benchmark", "redis-cli"))
        self.requests = requests

    def preload(self, allocator):
        return allocator.env if allocator.path else {"LD_PRELOAD": libc_path()}

    def socket(self, bench):
        return os.path.join(bench.scratch, "redis")

    def server(self, bench):
        return ["redis-server", "--port", "0", "--unixsocket", self.socket(bench), "--save", "",
                "--appendonly", "no", "--dir", bench.scratch]

    def ping(self, bench):
        return ["redis-cli", "-s", self.socket(bench), "ping"]

    def client(self, bench):
        return ["redis-benchmark", "-s", self.socket(bench), "-q", "-P", "32", "-c", "20",
                "-n", str(self.requests), "-r", "40000", "-d", "150",
                "-t", "set,incr,lpush,lpop,sadd,hset,spop,zadd,lrange_100,mset"]


class MariadbRow(ServerRow):
    """
    The multi-threaded server. One thread a connection, and each statement allocates in it: the
    text, the parse tree, the plan, temporary tables, sort buffers, results; threads end with
    their connection. memcached, varnish, unbound and haproxy keep pools of their own and hardly
    call malloc under load. InnoDB is off: its buffer pool would hide the allocator in memory
    and its log the allocator in time; tables are small and stay in the page cache.
    """

    def __init__(self, queries):
        super().__init__("mariadb", "program", "mariadbd asked by 8 clients of mariadb-slap", [],
                         needs=("mariadbd", "mariadb-slap", "mariadb-install-db", "mariadb-admin"))
        self.queries = queries

    def user(self):
        return ["--user=root"] if os.geteuid() == 0 else []

    def prepare(self, bench):
        data = os.path.join(bench.scratch, "mariadb")
        done = subprocess.run(
            [find_program("mariadb-install-db"), "--no-defaults", "--datadir=" + data,
             "--skip-test-db", "--skip-innodb", "--default-storage-engine=Aria", *self.user()],
            capture_output=True, env=clean_environment())
        if done.returncode != 0:
            raise RuntimeError("mariadb-install-db: " + done.stderr.decode(errors="replace")[-300:])

    def socket(self, bench):
        return "--socket=" + os.path.join(bench.scratch, "mariadb.socket")

    def server(self, bench):
        return [find_program("mariadbd"), "--no-defaults", *self.user(),
                "--datadir=" + os.path.join(bench.scratch, "mariadb"), self.socket(bench),
                "--pid-file=" + os.path.join(bench.scratch, "mariadb.pid"), "--skip-networking",
                "--skip-grant-tables", "--skip-innodb", "--default-storage-engine=Aria",
                "--performance-schema=OFF", "--key-buffer-size=1M",
                "--aria-pagecache-buffer-size=8M", "--thread-cache-size=0"]

    def ping(self, bench):
        return ["mariadb-admin", "--no-defaults", self.socket(bench), "ping"]

    def client(self, bench):
        return ["mariadb-slap", "--no-defaults", self.socket(bench),
                "--create=bench/programs/shop_create.sql",
                "--query=bench/programs/shop_queries.sql", "--delimiter=;", "--concurrency=8",
                "--iterations=1", "--number-of-queries=%d" % self.queries]


def find_program(name):
    """Servers live in sbin; a version manager's python is passed over for Debian's."""
    return shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin") or shutil.which(name)


def shell_word(word):
    return word if re.fullmatch(r"[\w@%+=:,./-]+", word) else "'%s'" % word.replace("'", "'\\''")


def micro_rows(bench, scale):
    """The workloads that build/bench/micro says it has."""
    binary = bench.binary("micro")
    listed = subprocess.run([os.path.join(bench.root, binary), "list"], capture_output=True,
                            text=True, check=True).stdout
    group = "single"
    for line in listed.splitlines():
        name, what = line.split(None, 1)
        if name == "server":
            group = "multi"
        yield Row(name, group, what, [binary, name, "%g" % scale, "1"], same_output=True)


def program_rows(quick):
    python, perl = find_program("python3") or "python3", find_program("perl") or "perl"
    yield Row("python", "program", "python3: objects, dicts, strings, json",
              [python, "bench/programs/documents.py", "2" if quick else "5"],
              env={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}, needs=("python3",),
              same_output=True)
    yield Row("perl", "program", "perl: text, hashes, regular expressions",
              [perl, "bench/programs/words.pl", "1" if quick else "2"],
              env={"PERL_HASH_SEED": "0"}, needs=("perl",), same_output=True)
    yield Row("sqlite", "program", "sqlite3: a database in memory", ["sqlite3", ":memory:"],
              stdin="bench/programs/orders.sql", needs=("sqlite3",), same_output=True)
    yield Row("g++", "program", "g++ compiling many templates",
              ["g++", "-std=c++17", "-S", "-o", "/dev/null", "bench/programs/templates.cc"],
              needs=("g++",))
    yield RedisRow(10000 if quick else 25000)
    yield MariadbRow(1000 if quick else 3000)


def thread_rows(bench, quick):
    """Once a run: they cost seconds and, under some peers, 1.5 GB; memory hardly varies."""
    binary = bench.binary("threads")
    live, ended = ("2000", "8000") if quick else ("10000", "100000")
    yield Row("threads-live", "threads", live + " threads alive at once",
              [binary, "live", live], in_mean=False, rounds_max=1)
    yield Row("threads-ended", "threads", ended + " threads created and ended",
              [binary, "churn", ended], in_mean=False, rounds_max=1)


def all_rows(bench, scale, quick):
    programs = list(program_rows(quick))
    if quick:
        for row in programs:
            row.rounds_max = 1
    return [*micro_rows(bench, scale), *programs, *thread_rows(bench, quick)]
