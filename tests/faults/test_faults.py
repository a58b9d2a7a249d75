# SPDX-License-Identifier: Apache-2.0
"""The program where the machine fails it: full disks, little memory, cut files, killed processes.
Whatever happens, it answers or says in one sentence why not, and leaves nothing broken behind."""

import contextlib
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import time

import pytest

RUN_SECONDS = 120
PROMPT = "What is the capital of France?"
ANSWER = "Paris"
MEBIBYTE = 1 << 20


class Cache:
    """A cache folder of its own for a test, and what the program writes there."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {**os.environ, "WHINCHAT_CACHE_DIR": str(folder)}

    def files(self, pattern="*"):
        return sorted((self.folder / "packed").glob(pattern))

    def packed_file(self):
        (file,) = self.files("*.whinchat")
        return file

    def assert_no_leftovers(self):
        assert self.files("*.partial-*") == []


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


@pytest.fixture
def ask(program, model, cache):
    """Asks one question in a process of its own."""

    def ask(*flags, model=model, **options):
        return subprocess.run(
            [program, "run", "--model", str(model), "--temperature", "0", *flags, PROMPT],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            **{"env": cache.env, **options},
        )

    return ask


def assert_answers(result):
    assert result.returncode == 0, result.stderr
    assert ANSWER in result.stdout


def assert_refuses(result, *words):
    """One sentence of the program on why there is no answer."""
    assert result.returncode == 1, (result.returncode, result.stdout, result.stderr)
    lines = [line for line in result.stderr.splitlines() if line.startswith("whinchat: ")]
    assert len(lines) == 1, result.stderr
    for word in words:
        assert word in lines[0]


def limit(kind, value):
    return lambda: resource.setrlimit(kind, (value, value))


@contextlib.contextmanager
def small_disk(folder, size):
    """A file system of `size` bytes at `folder`."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


# --- while the weights are packed


def test_killed_while_packing(program, model, cache, ask):
    for _ in range(3):
        command = [program, "run", "--model", model, PROMPT]
        process = subprocess.Popen(
            command,
            env=cache.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + RUN_SECONDS
        while not cache.files("*.partial-*"):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.001)
        process.kill()
        process.wait()
        assert cache.files("*.whinchat") == []
    assert len(cache.files("*.partial-*")) == 1, "a later start removes what a killed one left"
    assert_answers(ask())
    cache.assert_no_leftovers()


def test_first_starts_at_once(program, model, cache):
    command = [program, "run", "--model", model, "--temperature", "0", PROMPT]
    processes = [
        subprocess.Popen(
            command,
            env=cache.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in processes:
        stdout, stderr = process.communicate(timeout=RUN_SECONDS)
        assert process.returncode == 0, stderr
        assert ANSWER in stdout
    assert cache.packed_file().stat().st_size > 0
    cache.assert_no_leftovers()


def test_a_limit_on_file_sizes(cache, ask):
    result = ask(preexec_fn=limit(resource.RLIMIT_FSIZE, 10 * MEBIBYTE))
    assert_answers(result)
    assert "kept in memory" in result.stderr
    assert cache.files() == []


def test_a_full_disk(cache, ask):
    with small_disk(cache.folder, 20 * MEBIBYTE):
        result = ask()
        assert_answers(result)
        assert "warning: the packed weights are kept in memory" in result.stderr
        assert "free some space" in result.stderr
        assert cache.files() == []


def test_a_cache_folder_of_someone_else(program, model, cache, ask, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("starting a process as another user needs root")
    cache.folder.mkdir(mode=0o755)
    for parent in list(tmp_path.parents)[:-2]:
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    tmp_path.chmod(0o755)
    # Copies, as a checkout or a home of root's may be closed to others.
    shutil.copy(program, tmp_path / "whinchat")
    shutil.copy(model, tmp_path / "model.gguf")
    result = subprocess.run(
        [tmp_path / "whinchat", "run", "--model", tmp_path / "model.gguf", PROMPT],
        env={**cache.env, "HOME": "/nonexistent"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        user=65534,
        group=65534,
        extra_groups=[],
    )
    assert_answers(result)
    assert "kept in memory" in result.stderr
    assert list(cache.folder.iterdir()) == []


# --- a packed file that is not what was written


@pytest.fixture
def packed(cache, ask):
    """The packed file of an earlier, good start."""
    assert_answers(ask())
    return cache.packed_file()


@pytest.mark.parametrize("offset", [0, 8, 12, 20, 28, 36, 44, 64, 200, 4000])
def test_a_flipped_bit_in_the_header(cache, ask, packed, offset):
    good = packed.read_bytes()
    with packed.open("r+b") as file:
        file.seek(offset)
        file.write(bytes([good[offset] ^ 0x10]))
    assert_answers(ask())
    assert cache.packed_file().read_bytes() == good, "it is written anew"
    cache.assert_no_leftovers()


@pytest.mark.parametrize("part", [0.0, 0.00001, 0.5, 0.99999])
def test_a_cut_packed_file(cache, ask, packed, part):
    good = packed.read_bytes()
    os.truncate(packed, int(len(good) * part))
    assert_answers(ask())
    assert cache.packed_file().read_bytes() == good, "it is written anew"


def test_a_model_that_changed(cache, ask, model, tmp_path):
    """The packed file of one model is never taken for that of another under the same name."""
    copy = tmp_path / "model.gguf"
    shutil.copy(model, copy)
    assert_answers(ask(model=copy))
    content = bytearray(copy.read_bytes())
    # The last tensor's end: a weight, not its description.
    content[-2 * MEBIBYTE :] = bytes(2 * MEBIBYTE)
    copy.write_bytes(content)
    changed = ask(model=copy)
    fresh = ask("--no-packed-cache", model=copy)
    assert changed.returncode == fresh.returncode == 0, changed.stderr
    assert changed.stdout == fresh.stdout


@pytest.mark.parametrize("part", [0.0, 0.00001, 0.01, 0.5, 0.99999])
def test_a_cut_model(ask, model, tmp_path, part):
    copy = tmp_path / "model.gguf"
    shutil.copy(model, copy)
    os.truncate(copy, int(copy.stat().st_size * part))
    assert_refuses(ask(model=copy), "model.gguf")


# --- limits of the process


def test_little_address_space(ask):
    """Too little for the weights is said in one sentence; nothing dies without a word."""
    refusals = 0
    for mebibytes in (60, 120, 200, 400):
        result = ask(preexec_fn=limit(resource.RLIMIT_AS, mebibytes * MEBIBYTE))
        if result.returncode == 0:
            assert_answers(result)
        else:
            assert_refuses(result)
            refusals += 1
    assert refusals > 0


def test_few_file_descriptors(ask):
    for num_files in (3, 4, 5, 6, 8, 12):
        result = ask(preexec_fn=limit(resource.RLIMIT_NOFILE, num_files))
        if result.returncode == 0:
            assert_answers(result)
        elif result.returncode != 127:  # 127: the loader found no descriptor for a library
            assert_refuses(result)


def test_few_threads(ask, packed):
    if os.geteuid() == 0:
        pytest.skip("root may start as many threads as it likes")
    assert_refuses(ask("--threads", "8", preexec_fn=limit(resource.RLIMIT_NPROC, 1)), "thread")


# --- who reads and who asks


def test_the_reader_of_a_pipe_leaves(program, model, cache):
    command = [program, "run", "--model", model, "--max-tokens", "2000", "Write a long story."]
    process = subprocess.Popen(
        command,
        env=cache.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stdout.read(1)
    process.stdout.close()
    started = time.monotonic()
    process.wait(RUN_SECONDS)
    assert time.monotonic() - started < 10, "it wrote the whole story for nobody"
    assert process.returncode in (-signal.SIGPIPE, 1)


def test_a_taken_port(program, model):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = subprocess.run(
            [program, "serve", "--model", model, "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
        )
    assert_refuses(result, str(port))


def test_a_killed_server_starts_again_on_its_port(start_server):
    server = start_server()
    stream = server.open_stream()
    port = server.port
    server.kill()
    stream.close()
    again = start_server(port=port)
    assert again.port == port
    assert again.chat(max_tokens=2).status == 200


def test_a_server_with_few_file_descriptors(start_server):
    """Connections beyond the limit wait or are closed; it serves again when they are gone."""
    server = start_server(preexec_fn=limit(resource.RLIMIT_NOFILE, 40))
    idle = []
    with contextlib.suppress(OSError):
        for _ in range(100):
            idle.append(socket.create_connection(("127.0.0.1", server.port), timeout=2))
    time.sleep(0.5)
    cpu_before = cpu_seconds(server.process.pid)
    time.sleep(1)
    assert cpu_seconds(server.process.pid) - cpu_before < 0.5, "it spins on what it can't accept"
    for sock in idle:
        sock.close()
    deadline = time.monotonic() + 10
    while True:
        try:
            assert server.chat(max_tokens=2).status == 200
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_the_model_file_goes_while_it_serves(start_server, model, tmp_path):
    copy = tmp_path / "model.gguf"
    shutil.copy(model, copy)
    server = start_server(model=str(copy))
    copy.unlink()
    assert server.chat(PROMPT, max_tokens=8).status == 200


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
