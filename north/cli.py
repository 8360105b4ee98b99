"""The operator's commands."""

from __future__ import annotations

import json
import signal
from typing import Annotated

import typer

from north import __version__
from north.access.firms import add_user, create_firm, find_firm, find_user
from north.access.tokens import create_token
from north.commands.database import database_commands
from north.commands.heap import collecting_put_off
from north.commands.jobs import jobs_commands
from north.commands.options import DataDir, Firm, Host, Json, Port, plain_errors, say, settings_with, show
from north.commands.place import with_backend
from north.errors import UserNotFound
from north.logs import configure_logging
from north.memory.backend import Backend
from north.memory.matters import add_matter
from north.model import Caller, ImportStatus, Origin, User

app = typer.Typer(
    name="north",
    help="North: a firm's memory for its AI assistants. Start with `north up`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def _north(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    configure_logging()
    if version:
        typer.echo(f"north {__version__}")
        raise typer.Exit


@app.command()
@plain_errors
def up(data_dir: DataDir = None, port: Port = None, host: Host = None) -> None:
    """Run everything on this machine: Postgres, web, API, worker, and demo firms on the first run."""
    # The surfaces are imported by the commands that serve them, so that the others start quickly.
    with collecting_put_off():
        from north.commands import serving

        serving.up(settings_with(data_dir=data_dir, port=port, host=host))


@app.command()
@plain_errors
def serve(data_dir: DataDir = None, port: Port = None, host: Host = None) -> None:
    """Run the web server alone, on the database of NORTH_DATABASE_URL."""
    with collecting_put_off():
        from north.commands import serving

        serving.serve(settings_with(data_dir=data_dir, port=port, host=host))


@app.command()
@plain_errors
def worker(data_dir: DataDir = None) -> None:
    """Run the jobs, on the database of NORTH_DATABASE_URL; start as many workers as you like."""
    from north.commands import working

    working.work(settings_with(data_dir=data_dir))


@app.command()
@plain_errors
def mcp(data_dir: DataDir = None) -> None:
    """Speak MCP over standard input and output, for a host on this machine that starts it.

    NORTH_TOKEN says for whom it acts; make one with `north token create`. Hosts elsewhere connect to /mcp of `north
    serve` instead.
    """
    from north.commands import hosting

    hosting.host(settings_with(data_dir=data_dir))


firm_commands = typer.Typer(help="Firms.", no_args_is_help=True)
app.add_typer(firm_commands, name="firm")


@firm_commands.command("create")
@plain_errors
def firm_create(
    slug: Annotated[str, typer.Argument(help="A short name for commands, such as `harbor-law`.")],
    name: Annotated[str, typer.Option(help="The firm's name; default: the short name.")] = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Create a firm."""
    organization_id = with_backend(
        settings_with(data_dir=data_dir), lambda backend: create_firm(backend, slug, name or slug)
    )
    say(as_json, f"Created firm {slug}.", {"firm": slug, "id": str(organization_id)})


user_commands = typer.Typer(help="Lawyers and administrators.", no_args_is_help=True)
app.add_typer(user_commands, name="user")


@user_commands.command("add")
@plain_errors
def user_add(
    email: Annotated[str, typer.Argument(help="The address to log in with.")],
    firm: Firm,
    name: Annotated[str, typer.Option(help="The person's name.")],
    role: Annotated[str, typer.Option(help="`lawyer` or `admin`.")] = "lawyer",
    password: Annotated[
        str, typer.Option(prompt=True, hide_input=True, envvar="NORTH_NEW_PASSWORD", help="At least 10 characters.")
    ] = "",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Add a person to a firm; asks for the password."""

    async def work(backend: Backend) -> User:
        return await add_user(backend, await find_firm(backend, firm), email, name, password, role)

    user = with_backend(settings_with(data_dir=data_dir), work)
    say(as_json, f"Added {user.email} to {firm}.", {"user": user.email, "id": str(user.id), "firm": firm})


matter_commands = typer.Typer(help="Matters.", no_args_is_help=True)
app.add_typer(matter_commands, name="matter")


@matter_commands.command("add")
@plain_errors
def matter_add(
    number: Annotated[str, typer.Argument(help="The matter's number, unique in the firm.")],
    firm: Firm,
    name: Annotated[str, typer.Option(help="The matter's name.")],
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Add a matter to a firm."""

    async def work(backend: Backend) -> str:
        return str((await add_matter(backend, await find_firm(backend, firm), None, number, name)).id)

    matter_id = with_backend(settings_with(data_dir=data_dir), work)
    say(as_json, f"Added matter {number} to {firm}.", {"matter": number, "id": matter_id, "firm": firm})


token_commands = typer.Typer(help="Access tokens for agents, scripts and hosts.", no_args_is_help=True)
app.add_typer(token_commands, name="token")


@token_commands.command("create")
@plain_errors
def token_create(
    firm: Firm,
    user: Annotated[str, typer.Option(help="The e-mail address of the lawyer for whom the token acts.")],
    name: Annotated[str, typer.Option(help="What the token is for.")] = "command line",
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Create a token and print it; it is shown this once."""

    async def work(backend: Backend) -> str:
        organization_id = await find_firm(backend, firm)
        found = await find_user(backend, user)
        if found.organization_id != organization_id:
            raise UserNotFound(email=user)
        caller = Caller(organization_id, found.id, Origin.SETTINGS)
        return (await create_token(backend, caller, name))[1]

    secret = with_backend(settings_with(data_dir=data_dir), work)
    say(as_json, secret, {"token": secret})


@app.command("import")
@plain_errors
def import_(
    file: Annotated[
        str, typer.Argument(help="An export as it was downloaded, a zip or a file; `-` for standard input.")
    ],
    email: Annotated[str, typer.Option(help="The e-mail address of the lawyer whose memory it is for.")],
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Import what a lawyer told other assistants: ChatGPT, Claude, Claude Code, Copilot, Gemini, or a pasted list.

    The file is read where it lies. All of it becomes the lawyer's personal memory. Running it again with the same file,
    or a later one, imports only what is new.
    """
    from north.commands import importing

    settings = settings_with(data_dir=data_dir)
    with importing.opened_file(file) as path, importing.shown_progress() as show:
        result = importing.interrupted(
            lambda: with_backend(
                settings, lambda backend: importing.bring_in(backend, settings, email, path, file, show)
            )
        )
    importing.report(result, as_json=as_json)
    if result.status is not ImportStatus.FINISHED:
        raise typer.Exit(1)


@app.command()
@plain_errors
def sweep(
    firm: Annotated[str | None, typer.Option(help="One firm's short name; default: every firm.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which rules would be written.")] = False,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Write `never remember` rules for what lawyers keep deleting; the worker does this every night by itself.

    What it has written a rule for once, it never looks at again: a rule that its lawyer deleted stays deleted.
    """
    from north.commands import sweeping

    swept = with_backend(settings_with(data_dir=data_dir), lambda backend: sweeping.run(backend, firm, dry_run=dry_run))
    say(as_json, sweeping.in_words(swept, dry_run=dry_run), sweeping.as_json(swept, dry_run=dry_run))


@app.command()
@plain_errors
def doctor(data_dir: DataDir = None, port: Port = None, host: Host = None, as_json: Json = False) -> None:
    """Check versions, roles, isolation, embedder, model, port and disk: one line each, fine or what to do.

    Exits with 1 when there is something to do. It changes nothing.
    """
    from north.doctor import diagnose

    findings = diagnose(settings_with(data_dir=data_dir, port=port, host=host))
    if as_json:
        typer.echo(json.dumps([finding.as_json() for finding in findings]))
    else:
        for finding in findings:
            show(str(finding))
    if not all(finding.fine for finding in findings):
        raise typer.Exit(1)


app.add_typer(database_commands, name="db")
app.add_typer(jobs_commands, name="jobs")


def main() -> None:
    """The entry point of the `north` command."""
    # Ended by a supervisor as by Ctrl-C: in order, so that no embedded server is left running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app()
