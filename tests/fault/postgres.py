"""The PostgreSQL that tests/check/postgres started, and standbys of it."""
import atexit
import os
import subprocess

from harness import wait_for


class Postgres:
    """The one that tests/check/postgres started, its standby, and whichever of both is the primary."""

    def __init__(self):
        self.top = os.environ["GNOMON_TEST_DATABASE"].split("host=")[1].split("&")[0]
        binaries = sorted(os.listdir("/usr/lib/postgresql"), key=float)
        self.bin, self.count = f"/usr/lib/postgresql/{binaries[-1]}/bin", 0
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] if os.getuid() == 0 else []
        self.primary, self.standby, self.options = (f"{self.top}/data", self.top), None, ""
        atexit.register(self.end)

    def run(self, program, *arguments, check=True):
        done = subprocess.run([*self.user, f"{self.bin}/{program}", *arguments], cwd=self.top, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if check and done.returncode != 0:
            raise AssertionError(f"{program} {arguments}: {done.stderr}")

    def control(self, data, *arguments, check=True):
        self.run("pg_ctl", "-D", data, "-l", f"{self.top}/log", "-s", "-w", "-t", "120", *arguments, check=check)

    def ask(self, text, of=None):
        """Of the primary, or of what is named."""
        return subprocess.run(["psql", f"postgresql:///postgres?host={(of or self.primary)[1]}&user=postgres", "-XAtqc", text],
                              check=True, capture_output=True, text=True).stdout.strip()

    def restart(self, mode):
        self.control(self.primary[0], "-m", mode, "restart")

    def attach(self, is_waited_for=True, options=""):
        """A standby, without which no COMMIT is done from now on if it is to be waited for; whether it follows."""
        self.count += 1
        place = f"{self.top}/standby{self.count}"
        data = f"{place}/data"
        subprocess.run([*self.user, "mkdir", "-m", "755", place], check=True)
        self.run("pg_basebackup", "-h", self.primary[1], "-U", "postgres", "-D", data, "-R", "-X", "stream", "-c", "fast",
                 "--no-sync")
        self.options = f"-c listen_addresses= -c unix_socket_directories={place} -c fsync=on -c max_connections=300 {options}"
        self.standby = (data, place)
        self.start()
        if is_waited_for:
            self.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.ask("SELECT pg_reload_conf()")
        state = "sync" if is_waited_for else "async"
        streams = f"SELECT count(*) FROM pg_stat_replication WHERE sync_state = '{state}' AND state = 'streaming'"
        return wait_for(lambda: self.ask(streams) == "1")

    def start(self):
        """The standby, which was stopped or killed."""
        self.run("pg_ctl", "-D", self.standby[0], "-l", f"{self.standby[1]}/log", "-s", "-w", "-t", "120", "-o", self.options,
                 "start")

    def promote(self):
        """The old primary is gone for good."""
        self.control(self.primary[0], "-m", "immediate", "stop")
        self.control(self.standby[0], "promote")
        self.primary, self.standby = self.standby, None

    def end(self):
        for data, _ in filter(None, (self.standby, self.primary)):
            self.control(data, "-m", "immediate", "stop", check=False)
