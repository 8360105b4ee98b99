"""What a failure is over HTTP, on every surface that speaks it."""

from __future__ import annotations

from http import HTTPStatus

from north import errors
from north.errors import NorthError

STATUSES: dict[type[NorthError], HTTPStatus] = {
    NorthError: HTTPStatus.INTERNAL_SERVER_ERROR,
    errors.InvalidInput: HTTPStatus.UNPROCESSABLE_ENTITY,
    errors.BodyNotJson: HTTPStatus.BAD_REQUEST,
    errors.BodyNotTyped: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    errors.BodyTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.HeadTooLarge: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    errors.HeadTooSlow: HTTPStatus.REQUEST_TIMEOUT,
    errors.ImportTooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    errors.MethodNotAllowed: HTTPStatus.METHOD_NOT_ALLOWED,
    errors.FormUnreadable: HTTPStatus.BAD_REQUEST,
    errors.UploadBroken: HTTPStatus.BAD_REQUEST,
    errors.NotFound: HTTPStatus.NOT_FOUND,
    errors.Conflict: HTTPStatus.CONFLICT,
    errors.Refused: HTTPStatus.FORBIDDEN,
    errors.NotSignedIn: HTTPStatus.UNAUTHORIZED,
    errors.LoginFailed: HTTPStatus.UNAUTHORIZED,
    errors.TooManyAttempts: HTTPStatus.TOO_MANY_REQUESTS,
    errors.Unavailable: HTTPStatus.SERVICE_UNAVAILABLE,
}


def status_of(failure: NorthError | type[NorthError]) -> HTTPStatus:
    """The status of a failure, or of a kind of them: that of the nearest ancestor that has one."""
    kind = failure if isinstance(failure, type) else type(failure)
    return next(STATUSES[ancestor] for ancestor in kind.__mro__ if ancestor in STATUSES)
