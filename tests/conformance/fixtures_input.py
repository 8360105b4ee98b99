"""The suite's tools and prompts that ask the client for something, in both protocol eras."""

from __future__ import annotations

from typing import Any

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Message, PromptResult
from fastmcp.tools import ToolResult
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
)

from tests.conformance.fixtures import embedded, image, text

Properties = dict[str, dict[str, Any]]


def form(message: str, properties: Properties, required: list[str] | None = None) -> ElicitRequest:
    """A question to the user."""
    schema = {"type": "object", "properties": properties, "required": required or list(properties)}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str, max_tokens: int) -> CreateMessageRequest:
    """A question to the client's model."""
    messages = [SamplingMessage(role="user", content=text(prompt))]
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=messages, max_tokens=max_tokens))


NAME = form("What is your name?", {"name": {"type": "string"}})
CONFIRM = form("Please confirm", {"ok": {"type": "boolean"}})
ASKED = "asked"


def asking(requests: dict[str, InputRequest], state: str | None = None) -> InputRequiredResult:
    """A result that asks before it answers."""
    return InputRequiredResult(input_requests=requests, request_state=state)


def answered(context: Context, key: str) -> dict[str, Any] | None:
    """What the user put into the form of this key, when they did."""
    response = (context.input_responses or {}).get(key)
    return dict(response.content or {}) if isinstance(response, ElicitResult) and response.action == "accept" else None


def says(content: str) -> ToolResult:
    """A result of text."""
    return ToolResult(content=[text(content)])


def add_questions(server: FastMCP) -> None:
    """Tools that answer with a question (protocol 2026-07-28)."""

    @server.tool
    async def test_input_required_result_elicitation(context: Context) -> ToolResult | InputRequiredResult:
        """Asks for a name."""
        answer = answered(context, "user_name")
        return says(f"Hello, {answer['name']}!") if answer else asking({"user_name": NAME})

    @server.tool
    async def test_input_required_result_sampling(context: Context) -> ToolResult | InputRequiredResult:
        """Asks the client's model."""
        response = (context.input_responses or {}).get("capital_question")
        if not isinstance(response, CreateMessageResult):
            return asking({"capital_question": sample("What is the capital of France?", 100)})
        return says(str(response.content))

    @server.tool
    async def test_input_required_result_list_roots(context: Context) -> ToolResult | InputRequiredResult:
        """Asks for the client's roots."""
        response = (context.input_responses or {}).get("client_roots")
        if not isinstance(response, ListRootsResult):
            return asking({"client_roots": ListRootsRequest()})
        return says(", ".join(str(root.uri) for root in response.roots))

    @server.tool
    async def test_input_required_result_request_state(context: Context) -> ToolResult | InputRequiredResult:
        """Asks, and knows its own question again."""
        if answered(context, "confirm") and context.request_state == ASKED:
            return says("state-ok")
        return asking({"confirm": CONFIRM}, ASKED)

    @server.tool
    async def test_input_required_result_tampered_state(context: Context) -> ToolResult | InputRequiredResult:
        """Asks, with a state that nobody can change."""
        if answered(context, "confirm") and context.request_state == ASKED:
            return says("state-ok")
        return asking({"confirm": CONFIRM}, ASKED)

    @server.tool
    async def test_input_required_result_multiple_inputs(context: Context) -> ToolResult | InputRequiredResult:
        """Asks the user, the model and the client at once."""
        questions: dict[str, InputRequest] = {
            "user_name": NAME,
            "greeting": sample("Generate a greeting", 50),
            "client_roots": ListRootsRequest(),
        }
        if context.request_state == ASKED and questions.keys() <= (context.input_responses or {}).keys():
            return says("All is answered.")
        return asking(questions, ASKED)

    @server.tool
    async def test_input_required_result_multi_round(context: Context) -> ToolResult | InputRequiredResult:
        """Asks twice, one after the other."""
        if context.request_state == "name" and (answer := answered(context, "step1")):
            color = form("Step 2: What is your favorite color?", {"color": {"type": "string"}})
            return asking({"step2": color}, f"color of {answer['name']}")
        if (context.request_state or "").startswith("color of") and (answer := answered(context, "step2")):
            return says(f"{context.request_state}: {answer['color']}")
        return asking({"step1": form("Step 1: What is your name?", {"name": {"type": "string"}})}, "name")

    @server.tool
    async def test_input_required_result_capabilities(context: Context) -> ToolResult | InputRequiredResult:
        """Asks only for what the client can do."""
        capabilities = context.session.client_capabilities
        questions: dict[str, InputRequest] = {}
        if capabilities and capabilities.elicitation:
            questions["user_name"] = NAME
        if capabilities and capabilities.sampling:
            questions["greeting"] = sample("Generate a greeting", 50)
        return asking(questions) if questions else says("There is nobody to ask.")

    @server.tool
    async def test_streaming_elicitation(context: Context) -> ToolResult | InputRequiredResult:
        """Asks for a name on the response's own stream."""
        return says("Hello!") if answered(context, "user_name") else asking({"user_name": NAME})

    @server.tool
    async def test_missing_capability(context: Context) -> ToolResult:
        """Needs a client that can ask its model."""
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.sampling is None:
            needed: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "This tool needs the capability `sampling`.", needed)
        return says("The client can ask its model.")


def add_requests(server: FastMCP) -> None:
    """Tools that send a request of their own while they run (2025-11-25 and earlier); without a session, they fail."""

    @server.tool
    async def test_sampling(prompt: str, context: Context) -> ToolResult:
        """Asks the client's model."""
        messages = [SamplingMessage(role="user", content=text(prompt))]
        try:
            reply = await context.session.create_message(
                messages, max_tokens=100, related_request_id=context.request_id
            )
        except NoBackChannelError as error:
            raise ToolError(str(error)) from error
        return says(f"LLM response: {reply.content}")

    async def elicited(context: Context, question: ElicitRequest) -> ElicitResult:
        if not isinstance(question.params, ElicitRequestFormParams):
            raise ToolError("Only a form can be asked for.")
        form = question.params
        try:
            return await context.session.elicit(form.message, form.requested_schema, context.request_id)
        except NoBackChannelError as error:
            raise ToolError(str(error)) from error

    @server.tool
    async def test_elicitation(message: str, context: Context) -> ToolResult:
        """Asks the user."""
        fields = {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        }
        result = await elicited(context, form(message, fields))
        return says(f"User response: action={result.action}, content={result.content}")

    @server.tool
    async def test_elicitation_sep1034_defaults(context: Context) -> ToolResult:
        """Asks with a default for each kind of field."""
        statuses = ["active", "inactive", "pending"]
        fields: Properties = {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": statuses, "default": "active"},
            "verified": {"type": "boolean", "default": True},
        }
        result = await elicited(context, form("Please review the defaults", fields))
        return says(f"Elicitation completed: action={result.action}, content={result.content}")

    @server.tool
    async def test_elicitation_sep1330_enums(context: Context) -> ToolResult:
        """Asks with each kind of choice."""
        options = ["option1", "option2", "option3"]
        titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(("First", "Second"), 1)]
        fields: Properties = {
            "untitledSingle": {"type": "string", "enum": options},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        }
        result = await elicited(context, form("Please choose", fields))
        return says(f"Elicitation completed: action={result.action}, content={result.content}")


def add_prompts(server: FastMCP) -> None:
    """Prompts of each kind of content, and one that asks first."""

    @server.prompt
    async def test_simple_prompt() -> str:
        """A prompt without arguments."""
        return "This is a simple prompt for testing."

    @server.prompt
    async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A prompt with arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt
    async def test_prompt_with_embedded_resource(resourceUri: str) -> PromptResult:
        """A prompt with a resource in it."""
        resource = embedded(resourceUri, "Embedded resource content for testing.")
        return PromptResult(messages=[Message(resource), Message("Please process the embedded resource above.")])

    @server.prompt
    async def test_prompt_with_image() -> PromptResult:
        """A prompt with an image in it."""
        return PromptResult(messages=[Message(image()), Message("Please analyze the image above.")])

    @server.prompt
    async def test_input_required_result_prompt(context: Context) -> PromptResult | InputRequiredResult:
        """A prompt that asks for its context."""
        answer = answered(context, "user_context")
        if answer is None:
            return asking(
                {"user_context": form("What context should the prompt use?", {"context": {"type": "string"}})}
            )
        return PromptResult(messages=[Message(f"Use this context: {answer['context']}")])
