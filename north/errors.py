"""Every failure that a user can meet, as one tree.

The docstring of each class is its message: it says what happened and what to do. `{…}` fields are filled from
the keyword arguments given when it is raised. `code` is stable and part of the API's contract.
Nothing here knows about HTTP; each surface maps the tree to its own replies.
"""

from __future__ import annotations

from typing import Any, ClassVar


class NorthError(Exception):
    """Something went wrong in North."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str | None = None, **detail: Any) -> None:
        self.detail = detail
        super().__init__(message or " ".join((type(self).__doc__ or "").split()).format(**detail))


# --- what was sent is not usable ----------------------------------------------------------------------------


class InvalidInput(NorthError):
    """The request is not valid: {reason}"""

    code = "invalid_request"


class ContentEmpty(InvalidInput):
    """There is nothing to remember: the text is empty. Send one or two sentences that stand alone."""

    code = "content_empty"


class ContentTooLong(InvalidInput):
    """The text has {length} characters; a memory holds at most {limit}. Shorten it or split it into
    several.
    """

    code = "content_too_long"


class ContentNotText(InvalidInput):
    """The text holds a {what}, which cannot be stored. Remove it and send the text again."""

    code = "content_not_text"


class MessageTooLong(InvalidInput):
    """The message has {length} characters; at most {limit} are allowed. Send it in parts."""

    code = "message_too_long"


class MatterRequired(InvalidInput):
    """Scope `matter` needs a matter: send its number or its id."""

    code = "matter_required"


class MatterNotAllowed(InvalidInput):
    """A matter goes with scope `matter` only: leave it out, or set the scope to `matter`."""

    code = "matter_not_allowed"


class RuleActionUnknown(InvalidInput):
    """A rule can only be `never_remember`."""

    code = "rule_action_unknown"


class IdempotencyKeyReused(InvalidInput):
    """This Idempotency-Key was used for a different request. Use a new key for a new request."""

    code = "idempotency_key_reused"


class WalledSourceUnknown(InvalidInput):
    """There is no such walled source. Known: {known}."""

    code = "walled_source_unknown"


class AuthorizationInvalid(InvalidInput):
    """The program asked for access in a way that North does not accept: {reason}. Start again from the program; if
    it happens again, tell whoever makes it.
    """

    code = "authorization_invalid"


class NothingToChange(InvalidInput):
    """There is nothing to change: send a new text, a new type, or both."""

    code = "nothing_to_change"


class BodyNotJson(InvalidInput):
    """The body is not valid JSON. Send one JSON object, in UTF-8."""

    code = "malformed_json"


class BodyAmbiguous(BodyNotJson):
    """The body names a field twice, or holds a number that is none (NaN, Infinity). Say each thing once, in numbers."""


class BodyNotTyped(InvalidInput):
    """The body is not marked as JSON. Send it with `Content-Type: application/json`."""

    code = "unsupported_media_type"


class BodyTooLarge(InvalidInput):
    """The body has more than {limit} bytes. Send less at a time."""

    code = "too_large"


class HeadTooLarge(InvalidInput):
    """The address and the headers together have more than {limit} bytes. Send long texts in the body, and forget
    cookies that are not North's.
    """

    code = "head_too_large"


class HeadTooSlow(InvalidInput):
    """The address and the headers did not arrive within {seconds} seconds. Send them at once."""

    code = "head_too_slow"


class FormUnreadable(InvalidInput):
    """The form cannot be read: {reason}. Send the file as the field `file` of `multipart/form-data`, or as the body
    itself.
    """

    code = "malformed_form"


class FileMissing(InvalidInput):
    """There is no file in the form. Send it as the field `file`, or as the body itself."""

    code = "file_missing"


class UploadBroken(InvalidInput):
    """The upload ended before the whole file had arrived. Nothing of it was kept; send it again."""

    code = "upload_broken"


class ImportEmpty(InvalidInput):
    """The file is empty. Export your conversations again, and send the file that you get."""

    code = "import_empty"


class ImportTooLarge(InvalidInput):
    """The file has more than {limit} bytes. Split it, or export fewer conversations at a time."""

    code = "import_too_large"


class ExportNotRecognised(InvalidInput):
    """North finds no conversations and no memories in this file. It reads exports of ChatGPT, Claude, Claude Code,
    Copilot and Gemini, lists of messages, and lists of "[date] - memory": send one of these as it was downloaded.
    """

    code = "export_not_recognised"


class ExportRefused(InvalidInput):
    """The file was refused: {reason}"""

    code = "export_refused"


class MethodNotAllowed(InvalidInput):
    """This address does not take this method. The calls are listed at /api/docs."""

    code = "method_not_allowed"


# --- what was named does not exist for this caller ----------------------------------------------------------


class NotFound(NorthError):
    """There is no such {what}."""

    code = "not_found"


class CallNotFound(NotFound):
    """There is no such call. The calls are listed at /api/docs."""


class MemoryNotFound(NotFound):
    """There is no such memory."""

    code = "memory_not_found"


class MatterNotFound(NotFound):
    """There is no such matter. Check the number, or list the firm's matters."""

    code = "matter_not_found"


class ThreadNotFound(NotFound):
    """There is no such thread."""

    code = "thread_not_found"


class FirmNotFound(NotFound):
    """There is no firm {slug}. Create it with `north firm create {slug}`."""

    code = "firm_not_found"


class UserNotFound(NotFound):
    """There is no user {email}. Add them with `north user add`."""

    code = "user_not_found"


class RuleNotFound(NotFound):
    """There is no such rule."""

    code = "rule_not_found"


class TokenNotFound(NotFound):
    """There is no such token."""

    code = "token_not_found"


class ImportNotFound(NotFound):
    """There is no such import."""

    code = "import_not_found"


class JobNotFound(NotFound):
    """No job {id} has failed. `north jobs list` shows the jobs."""

    code = "job_not_found"


class DocumentNotFound(NotFound):
    """There is no such document in NetDocuments, or it is not yours to see. Search for it by words of its name."""

    code = "document_not_found"


class CabinetNotFound(NotFound):
    """There is no such cabinet in NetDocuments. Leave the cabinet out to search all of yours."""

    code = "cabinet_not_found"


class ProgramNotFound(NotFound):
    """There is no such connected program."""

    code = "program_not_found"


class ClientUnknown(NotFound):
    """North does not know the program that asks for access: {reason}. Remove North from the program, add it again,
    and start from there.
    """

    code = "client_unknown"


# --- somebody else was there first --------------------------------------------------------------------------


class Conflict(NorthError):
    """The {what} was changed in the meantime. Load it again and decide."""

    code = "conflict"


class MemoryNotLive(Conflict):
    """This version is no longer live; `current` is the text that stands now, if any does. Edit that one
    instead.
    """


class ThreadNotPaused(Conflict):
    """Nothing waits in this thread. Send a message instead."""

    code = "thread_not_paused"


class MemoryDuplicate(Conflict):
    """Another live memory says exactly this; it is `current`. Delete one of the two instead."""

    code = "duplicate"


class AlreadyExists(Conflict):
    """There is already a {what} like that: {name}."""

    code = "already_exists"


class ImportEnded(Conflict):
    """This import has ended already; there is nothing left to cancel."""

    code = "import_ended"


class ImportRunning(Conflict):
    """This import has not ended yet. Cancel it first, then undo it."""

    code = "import_running"


class TooManyImports(Conflict):
    """You have {limit} files waiting to be read. Wait until one has been, or cancel one, and send this one again."""

    code = "too_many_imports"


# --- what the caller may not do -----------------------------------------------------------------------------


class Refused(NorthError):
    """North refused this."""

    code = "refused"


class EditRefusedByRule(Refused):
    """Your rule "{rule}" forbids remembering this. Delete the rule in Settings if it no longer fits."""

    code = "refused_by_rule"


class EditRefusedByWall(Refused):
    """This session has read from {source}, so it may not write memory that the firm shares. Personal
    memory still works.
    """

    code = "refused_by_wall"


class SessionUnknown(Refused):
    """This session handle is not one that North gave to you. Call `north__briefing` for a new one, or leave it
    out.
    """

    code = "session_unknown"


class NotSignedIn(NorthError):
    """Sign in first: send a token as `Authorization: Bearer …`, or log in on the web."""

    code = "not_signed_in"


class LoginFailed(NorthError):
    """The e-mail address or the password is not right."""

    code = "login_failed"


class TooManyAttempts(NorthError):
    """Too many attempts. Wait {seconds} seconds and try again."""

    code = "too_many_attempts"


class TooManyLogins(TooManyAttempts):
    """Too many logins have failed for this name, or from your network. Wait {seconds} seconds and try again. Whoever is
    logged in stays so.
    """

    code = "too_many_logins"


class TooManyRequests(TooManyAttempts):
    """Your firm has more requests under way than North works on at once. Nothing was done; wait {seconds} seconds and
    try again.
    """

    code = "too_many_requests"


class CrossSiteRequest(Refused):
    """This request came from another site and was refused. Open North in its own tab and try again."""

    code = "cross_site_request"


class NetDocumentsNotConnected(Refused):
    """North is not connected to your NetDocuments account. Connect it in Settings → Connections, then ask again."""

    code = "netdocuments_not_connected"


class NetDocumentsDenied(Refused):
    """NetDocuments does not let your account do this. Ask whoever manages the cabinet for access."""

    code = "netdocuments_denied"


class NetDocumentsDeclined(Refused):
    """NetDocuments was not connected, because access was not given. You can start again in Settings → Connections."""

    code = "netdocuments_declined"


class NetDocumentsLinkInvalid(Refused):
    """This link from NetDocuments is not valid, or not any more. Start again in Settings → Connections."""

    code = "netdocuments_link_invalid"


# --- what North depends on is not there ---------------------------------------------------------------------


class Unavailable(NorthError):
    """North cannot do this right now. Try again in a moment."""

    code = "unavailable"


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached. Nothing was changed; try again in a moment."""

    code = "database_unavailable"


class DatabaseTooSlow(DatabaseUnavailable):
    """The database did not answer in time. Nothing was changed; try again in a moment."""

    code = "database_too_slow"


class DatabaseFull(DatabaseUnavailable):
    """The database has no room left. Nothing was changed; tell your administrator to give it more disk."""

    code = "database_full"


class DatabaseReadOnly(DatabaseUnavailable):
    """The database takes no changes at the moment. Nothing was changed; reading works. Try again later."""

    code = "database_read_only"


class OutcomeUnknown(DatabaseUnavailable):
    """The connection to the database broke before it said whether this was done. Look before you do it again, or
    send it again with the same Idempotency-Key.
    """

    code = "outcome_unknown"


class DatabaseBusy(Unavailable):
    """Others kept changing the same memory at the same moment. Nothing was changed; try again."""

    code = "database_busy"


class ModelUnavailable(Unavailable):
    """The model {model} cannot be reached. Your message is kept: send it again in a moment."""

    code = "model_unavailable"


class ModelTooSlow(Unavailable):
    """The model {model} did not answer in time. Your message is kept: send it again."""

    code = "model_too_slow"


class ModelOverLimit(Unavailable):
    """The model {model} is over its rate limit. Your message is kept: send it again in a minute."""

    code = "model_over_limit"


class ModelRejected(Unavailable):
    """The model {model} refused the request ({status}). Your message is kept; tell your administrator to
    check the model's settings.
    """

    code = "model_rejected"


class ModelConfused(Unavailable):
    """The model {model} gave an answer that cannot be used. Your message is kept: send it again."""

    code = "model_confused"


class EmbedderUnavailable(Unavailable):
    """The embedding model is not available: {reason}"""

    code = "embedder_unavailable"


class NetDocumentsUnavailable(Unavailable):
    """NetDocuments {reason}. Try again in a moment."""

    code = "netdocuments_unavailable"


class NetDocumentsBusy(NetDocumentsUnavailable):
    """NetDocuments takes no more requests from your account right now. Try again in {seconds} seconds."""

    code = "netdocuments_busy"


class NetDocumentsRejected(NetDocumentsUnavailable):
    """NetDocuments does not accept North's registration there. Tell your administrator to check the settings
    NORTH_NETDOCUMENTS_CLIENT_ID and NORTH_NETDOCUMENTS_CLIENT_SECRET.
    """

    code = "netdocuments_rejected"


# --- what North did wrong -----------------------------------------------------------------------------------


class InternalError(NorthError):
    """Something went wrong in North. It was logged as {request_id}; tell your administrator if it happens again."""

    code = "internal_error"


# --- what the operator has to set right ---------------------------------------------------------------------


class Misconfigured(NorthError):
    """North is not set up correctly: {reason}"""

    code = "misconfigured"


class PortInUse(Misconfigured):
    """Port {port} is already in use. Stop what uses it, or choose another with --port."""

    code = "port_in_use"


class DataFolderUnusable(Misconfigured):
    """The data folder {path} cannot be used: {reason}"""

    code = "data_folder_unusable"


class DataFolderTooNew(Misconfigured):
    """The data folder {path} was written by a newer North ({found}; this one knows up to {known}). Install
    that version, or choose another folder with --data-dir.
    """

    code = "data_folder_too_new"


class DatabaseNotReady(Misconfigured):
    """The database is not ready for North: {reason}"""

    code = "database_not_ready"


class JobsBehind(Misconfigured):
    """The jobs need a look: {reason}"""

    code = "jobs_behind"


class IsolationBroken(Misconfigured):
    """North refuses to serve: {reason}. Run `north doctor` and restore row-level security before starting
    again.
    """

    code = "isolation_broken"


class SweepNotConfigured(Misconfigured):
    """NORTH_SCHEDULER_DATABASE_URL is not set; the sweep connects with it, as `scheduler_role`."""

    code = "sweep_not_configured"


class DumpFailed(Misconfigured):
    """The database was not dumped: {reason}"""

    code = "dump_failed"


class RestoreFailed(Misconfigured):
    """The database was not restored: {reason}"""

    code = "restore_failed"


class DatabaseNotEmpty(Misconfigured):
    """The database {database} is not empty, and nothing was restored into it. Restore into a new database, or into a
    new data folder with --data-dir.
    """

    code = "database_not_empty"


class DatabaseTooNew(Misconfigured):
    """The database was prepared by a newer North ({found}; this one knows up to {known}). Install that
    version or newer.
    """

    code = "database_too_new"
