// The chat: sends what is typed and shows the answer while it is being written.
// Without this file the same form posts and the page comes back with the whole answer.
"use strict";

const composer = document.getElementById("composer");
const field = document.getElementById("text");
const messages = document.getElementById("messages");
const latest = document.getElementById("latest");
const status = document.getElementById("status");
const stopButton = composer.querySelector("[data-stop]");
const sendButton = composer.querySelector("[data-send-button]");

let running = null;

document.addEventListener("submit", (event) => {
  const form = event.target.closest("[data-send]");
  if (!form) return;
  event.preventDefault();
  const text = form.elements.text.value;
  if (running || !text.trim()) return;
  if (form === composer) field.value = "";
  send(text, form !== composer);
});

field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!running) composer.requestSubmit();
});

// What opens at the end of the page would open behind the composer.
messages.addEventListener("toggle", (event) => {
  if (event.target.open) event.target.scrollIntoView({ block: "nearest" });
}, true);

messages.addEventListener("htmx:afterSettle", () => {
  document.activeElement.closest(".note .memory")?.scrollIntoView({ block: "nearest" });
});

stopButton.addEventListener("click", () => {
  running?.abort();
  field.focus();
});

async function send(text, again) {
  const answer = begin(text, again);
  try {
    const response = await fetch(composer.action, {
      method: "POST",
      headers: { Accept: "text/event-stream" },
      body: new URLSearchParams([...new FormData(composer)].filter(([name]) => name !== "text").concat([["text", text]])),
      signal: running.signal,
    });
    if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      throw new Refusal(await reasonOf(response));
    }
    for await (const [name, data] of eventsOf(response)) show(answer, name, data);
    if (!answer.finished) throw new Refusal("The connection was lost before the answer was complete.");
  } catch (error) {
    if (error.name === "AbortError") {
      status.textContent = "Stopped.";
    } else {
      fail(text, error instanceof Refusal ? error.message : "North cannot be reached. Your message is kept: try again in a moment.");
    }
  } finally {
    end(answer);
  }
}

class Refusal extends Error {}

async function reasonOf(response) {
  const plain = response.headers.get("Content-Type")?.startsWith("text/plain");
  return plain ? await response.text() : "Something went wrong. Your message is kept: try again in a moment.";
}

function begin(text, again) {
  running = new AbortController();
  messages.querySelector(".problem")?.remove();
  document.getElementById("welcome")?.remove();
  document.body.classList.remove("is-new");
  choices(false);
  composer.querySelector(".problem")?.remove();
  if (!again) {
    const yours = copyOf("your-message");
    yours.querySelector(".bubble").textContent = text;
    latest.before(yours);
  }
  const element = copyOf("blank-answer");
  element.classList.add("is-waiting");
  latest.before(element);
  status.textContent = "North is reading…";
  stopButton.hidden = false;
  sendButton.hidden = true;
  toTheEnd();
  return {
    element,
    settled: element.querySelector(".settled"),
    open: element.querySelector(".open"),
    notes: element.querySelector(".notes"),
    finished: false,
  };
}

function show(answer, name, data) {
  const atEnd = isAtEnd();
  if (name === "thread") {
    enter(data);
  } else if (name === "delta") {
    answer.element.classList.remove("is-waiting");
    status.textContent = "North is writing…";
    answer.settled.insertAdjacentHTML("beforeend", data.settled);
    answer.open.innerHTML = data.open;
  } else if (name === "done") {
    answer.finished = true;
    if (data.answer) {
      answer.settled.innerHTML = data.answer;
      answer.open.replaceChildren();
    }
    answer.notes.innerHTML = data.notes;
    htmx.process(answer.notes);
    document.getElementById(data.place)?.parentElement.prepend(document.getElementById(data.place));
  } else if (name === "failed") {
    throw new Refusal(data.reason);
  } else if (data.html) {
    answer.notes.insertAdjacentHTML("beforeend", data.html);
    htmx.process(answer.notes);
    if (data.status) status.textContent = data.status;
  }
  if (atEnd) toTheEnd();
}

// What was still open is settled now, and a screen reader hears it; the notes appear below the answer.
function end(answer) {
  const atEnd = isAtEnd();
  answer.element.classList.remove("is-waiting");
  answer.settled.append(...answer.open.childNodes);
  answer.notes.hidden = false;
  if (!answer.settled.hasChildNodes() && !answer.notes.hasChildNodes()) answer.element.remove();
  if (answer.finished) status.textContent = "";
  stopButton.hidden = true;
  sendButton.hidden = false;
  running = null;
  if (atEnd) toTheEnd();
}

// The matter, and whether the chat is remembered, are chosen before the first message; if that fails, they still can be.
function choices(possible) {
  const both = composer.querySelector(".composer-choices");
  if (both) both.hidden = !possible;
}

function fail(text, reason) {
  choices(true);
  const failure = copyOf("failure");
  failure.querySelector("p").textContent = reason;
  const again = failure.querySelector("form");
  again.action = composer.action;
  again.elements.text.value = text;
  latest.before(failure);
}

// A new chat has become a conversation of its own: from now on this page is its page.
function enter(thread) {
  history.replaceState(null, "", thread.address);
  composer.action = `${thread.address}/messages`;
  composer.querySelector(".composer-choices")?.remove();
  document.querySelector(".side-nav [aria-current]")?.removeAttribute("aria-current");
  document.title = `${thread.title} · North`;
  const head = document.getElementById("thread-head");
  head.innerHTML = thread.head;
  htmx.process(head);
  document.querySelector("#threads .side-none")?.remove();
  document.getElementById("threads").insertAdjacentHTML("afterbegin", thread.link);
}

// Server-sent events out of a POST's response, as pairs of name and parsed data.
async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting += value;
    const blocks = waiting.split(/\r?\n\r?\n/);
    waiting = blocks.pop();
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split(/\r?\n/).map((line) => line.split(/: (.*)/s, 2)));
      if (fields.event) yield [fields.event, JSON.parse(fields.data)];
    }
  }
}

function copyOf(template) {
  return document.getElementById(template).content.firstElementChild.cloneNode(true);
}

function isAtEnd() {
  const page = document.documentElement;
  return page.scrollHeight - page.clientHeight - page.scrollTop < 120;
}

function toTheEnd() {
  window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
}

if (!location.hash) toTheEnd();
