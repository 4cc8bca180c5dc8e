"""Real servers for tests: each is one context manager, started when the first test asks for it, stopped at the end."""

from __future__ import annotations

import http.client
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest

from lakepact.errors import MachineError
from lakepact.spark.jars import cache_folder, fetch

PATIENCE = 60.0


class MissingServerError(Exception):
    """Why a server cannot run on this machine."""


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL for all tests; each test makes the tables it needs."""
    try:
        with run_postgres() as server:
            yield server
    except MissingServerError as reason:
        pytest.skip(str(reason))


# ------------------------------------------------------------------ PostgreSQL


@dataclass(frozen=True)
class Postgres:
    """A running server: SQL as its owner, the address for a user with a password, and what it was asked."""

    programs: Path
    folder: Path
    port: int
    user: str = "crm"
    password: str = "s3cret-of-crm"  # noqa: S105 - of a server that lives as long as the tests

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"

    @property
    def url_with_password(self) -> str:
        return f"{self.url}?user={self.user}&password={self.password}"

    def sql(self, text: str) -> str:
        """Run statements as the server's owner; the rows of the last one as text."""
        command = [str(self.programs / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"]
        where = ["-h", str(self.folder), "-p", str(self.port), "-U", "postgres", "-d", "postgres"]
        done = subprocess.run([*command, *where], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @contextmanager
    def asked(self) -> Iterator[list[str]]:
        """What drivers sent while this was open, statement by statement, from the server's own log."""
        found: list[str] = []
        began = self._log.stat().st_size
        yield found
        with self._log.open("rb") as log:
            log.seek(began)
            text = log.read().decode()
        found += [" ".join(said.split()) for said in _SENT.findall(text)]

    @property
    def _log(self) -> Path:
        return self.folder / "log"


# psql sends plain statements; drivers prepare theirs. Fetches of further rows are not further statements.
_SENT = re.compile(r"LOG:  execute (?!fetch)[^:]*: (.*(?:\n\t.*)*)")
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "16MB",
    "max_connections": "20",
    "log_statement": "all",
    "lc_messages": "C",
    "timezone": "UTC",
}


@contextmanager
def run_postgres() -> Iterator[Postgres]:
    """A server of its own: folder, socket, port and owner, gone when this ends."""
    programs = _postgres_programs()
    owner = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="lakepact-postgres-"))
    if owner:
        os.chown(folder, pwd.getpwnam(owner).pw_uid, -1)
    try:
        _make_cluster(programs, folder, owner)
        server = Postgres(programs, folder, free_port())
        with _running(_postgres_command(server), owner, folder / "log", lambda: _answers(server)):
            server.sql(f"CREATE ROLE {server.user} LOGIN PASSWORD '{server.password}'")
            server.sql(f"GRANT pg_read_all_data TO {server.user}")
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _postgres_programs() -> Path:
    """Where initdb and postgres are; Debian's package is installed where that is allowed."""
    found = _find_postgres()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _apt_install("postgresql")
        found = _find_postgres()
    if found is None:
        raise MissingServerError("PostgreSQL is not here and may not be installed: apt-get install postgresql")
    return found


def _find_postgres() -> Path | None:
    """On the path, or where Debian keeps it; the newest with all we need."""
    on_path = shutil.which("initdb")
    kept = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: float(place.parent.name))
    places = [*([Path(on_path).resolve().parent] if on_path else []), *reversed(kept)]
    needed = ("initdb", "postgres", "psql", "pg_isready")
    return next((place for place in places if all((place / name).exists() for name in needed)), None)


def _make_cluster(programs: Path, folder: Path, owner: str | None) -> None:
    """Whoever comes by the socket is trusted; whoever comes over the network needs a password."""
    methods = ["--auth-local=trust", "--auth-host=scram-sha-256", "--username=postgres"]
    command = [str(programs / "initdb"), "-D", str(folder / "data"), "-E", "UTF8", "--locale=C", "-N", *methods]
    _do(command, owner, folder)


def _postgres_command(server: Postgres) -> list[str]:
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    place = ["-D", str(server.folder / "data"), "-k", str(server.folder), "-h", "127.0.0.1", "-p", str(server.port)]
    return [str(server.programs / "postgres"), *place, *settings]


def _answers(server: Postgres) -> bool:
    command = [str(server.programs / "pg_isready"), "-q", "-h", str(server.folder), "-p", str(server.port)]
    return subprocess.run(command, check=False).returncode == 0


# ------------------------------------------------------------------ Kafka

BROKER = ("org.apache.kafka:kafka_2.13:4.3.1", "org.slf4j:slf4j-simple:1.7.36")


@dataclass(frozen=True)
class Kafka:
    """A running broker, which makes a topic when it is first spoken of."""

    port: int

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def send(self, spark: Any, topic: str, messages: Iterable[tuple[str | None, str | None]]) -> None:
        """Messages of key and value, by Spark's own client."""
        frame = spark.createDataFrame(list(messages), "key STRING, value STRING")
        where = {"kafka.bootstrap.servers": self.servers, "topic": topic}
        frame.write.format("kafka").options(**where).save()


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    """One broker for all tests; each test has topics of its own."""
    try:
        with run_kafka() as server:
            yield server
    except MissingServerError as reason:
        pytest.skip(str(reason))


@contextmanager
def run_kafka() -> Iterator[Kafka]:
    """One process is broker and controller at once; its folder is gone when this ends."""
    try:
        jars = [*fetch(BROKER, ()), *(Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar")]
    except MachineError as error:
        raise MissingServerError(f"Kafka cannot be had: {error}") from error
    folder = Path(tempfile.mkdtemp(prefix="lakepact-kafka-"))
    server = Kafka(free_port())
    settings = folder / "server.properties"
    settings.write_text(_kafka_settings(server.port, free_port(), folder), encoding="utf-8")
    java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", os.pathsep.join(map(str, jars))]
    try:
        _do([*java, "kafka.tools.StorageTool", "format", "-t", "A" * 22, "-c", str(settings)], None, folder)
        with _running([*java, "kafka.Kafka", str(settings)], None, folder / "log", lambda: _listens(server.port)):
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _kafka_settings(port: int, control: int, folder: Path) -> str:
    said = {
        "process.roles": "broker,controller", "node.id": 1, "controller.quorum.voters": f"1@127.0.0.1:{control}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{control}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}", "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT", "log.dirs": folder / "data", "num.partitions": 2,
        "offsets.topic.replication.factor": 1, "offsets.topic.num.partitions": 1,
        "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1,
        "group.initial.rebalance.delay.ms": 0, "log.cleaner.dedupe.buffer.size": 2097152,
    }  # fmt: skip
    return "".join(f"{name}={value}\n" for name, value in said.items())


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


# ------------------------------------------------------------------ S3

VERSITY = "github.com/versity/versitygw/cmd/versitygw@latest"
MOTO = "moto[server]"


@dataclass(frozen=True)
class S3:
    """A running server with one bucket."""

    port: int
    bucket: str = "lake"
    access: str = "lakepact-tests"
    secret: str = "s3cret-of-the-bucket"  # noqa: S105 - of a server that lives as long as the tests

    @property
    def root(self) -> str:
        return f"s3a://{self.bucket}"

    @property
    def config(self) -> dict[str, str]:
        """What Spark must be told, as a project says it."""
        said = {
            "endpoint": f"http://127.0.0.1:{self.port}", "endpoint.region": "us-east-1",
            "path.style.access": "true", "access.key": self.access, "secret.key": self.secret,
        }  # fmt: skip
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in said.items()}

    def put(self, spark: Any, key: str, content: str | bytes) -> None:
        """One object, by Hadoop's own client."""
        path = spark._jvm.org.apache.hadoop.fs.Path(f"{self.root}/{key}")
        system = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
        stream = system.create(path, True)
        stream.write(bytearray(content.encode() if isinstance(content, str) else content))
        stream.close()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3]:
    """One server for all tests; each test has folders of its own."""
    try:
        with run_s3() as server:
            yield server
    except MissingServerError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def s3(s3_server: S3, spark: Any) -> S3:
    """The server, and a Spark that knows where it is."""
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in s3_server.config.items():
        settings.set(name.removeprefix("spark.hadoop."), value)
    return s3_server


@contextmanager
def run_s3() -> Iterator[S3]:
    """versitygw where Go can build it, else moto; the objects are gone when this ends."""
    folder = Path(tempfile.mkdtemp(prefix="lakepact-s3-"))
    server = S3(free_port())
    try:
        command = _versity(server, folder) or _moto(server)
        with _running(command, None, folder / "log", lambda: _listens(server.port)):
            _make_bucket(server, folder)
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _versity(server: S3, folder: Path) -> list[str]:
    """The command that serves the folder; nothing where it cannot be had."""
    kept = cache_folder() / "programs"
    found = kept / "versitygw"
    if not found.exists() and shutil.which("go"):
        kept.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "install", VERSITY], env={**os.environ, "GOBIN": str(kept)}, check=False)
    if not found.exists():
        return []
    (folder / "objects").mkdir()
    keys = ["--access", server.access, "--secret", server.secret]
    return [str(found), *keys, "--port", f"127.0.0.1:{server.port}", "posix", str(folder / "objects")]


def _moto(server: S3) -> list[str]:
    kept = cache_folder() / "programs" / "moto"
    if not (kept / "moto").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(kept), MOTO]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MissingServerError(f"neither versitygw nor moto can be had: {done.stderr.strip()[-300:]}")
    start = f"import sys; sys.path.append({str(kept)!r}); from moto.server import main; main()"
    return [sys.executable, "-c", start, "-H", "127.0.0.1", "-p", str(server.port)]


def _make_bucket(server: S3, folder: Path) -> None:
    """A folder is a bucket to versitygw; moto asks nobody who they are."""
    if (folder / "objects").exists():
        (folder / "objects" / server.bucket).mkdir()
        return
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("PUT", f"/{server.bucket}")
    assert connection.getresponse().status == 200
    connection.close()


# ------------------------------------------------------------------ what all servers need


@contextmanager
def _running(command: list[str], owner: str | None, log: Path, ready: Callable[[], bool]) -> Iterator[None]:
    """A process from its first answer to its end; it is ended by its own id."""
    with (
        log.open("wb") as output,
        subprocess.Popen(command, user=owner, group=owner, cwd="/", stdout=output, stderr=output) as one,
    ):
        try:
            _wait(one, log, ready)
            yield
        finally:
            one.send_signal(signal.SIGINT)
            one.wait(PATIENCE)


def _wait(process: subprocess.Popen[bytes], log: Path, ready: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not ready():
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"{process.args!r} does not answer: {log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.05)


def _do(command: list[str], owner: str | None, folder: Path) -> None:
    done = subprocess.run(command, user=owner, group=owner, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")


def _apt_install(package: str) -> None:
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", package]):
        done = subprocess.run(["apt-get", *step], env=quiet, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MissingServerError(f"apt-get cannot install {package}: {done.stderr.strip()[-300:]}")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
