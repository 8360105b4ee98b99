// Rows of memories, in Settings and in the chat: what the keyboard does in a form, history that opens and closes, copying,
// and failures in words.
"use strict";

document.addEventListener("keydown", (event) => {
  const form = event.target.closest("[data-enter-saves]");
  if (!form || event.isComposing) return;
  if (event.key === "Enter" && !event.shiftKey && event.target.matches("textarea")) {
    event.preventDefault();
    form.requestSubmit();
  } else if (event.key === "Escape") {
    form.querySelector("[data-cancels]")?.click();
  }
});

// A second press on an open history closes it; htmx asks the server only for the first.
document.addEventListener("htmx:beforeRequest", (event) => {
  const toggle = event.target.closest("[data-toggles]");
  if (!toggle || toggle.getAttribute("aria-expanded") !== "true") return;
  event.preventDefault();
  event.detail.target.replaceChildren();
  toggle.setAttribute("aria-expanded", "false");
});

document.addEventListener("htmx:afterRequest", (event) => {
  const toggle = event.detail.elt.closest("[data-toggles]");
  if (toggle && event.detail.successful) toggle.setAttribute("aria-expanded", "true");
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const text = button.parentElement.querySelector("code").textContent;
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    getSelection().selectAllChildren(button.parentElement.querySelector("code"));
    say("Press Ctrl+C or ⌘C to copy the marked text.");
  }
});

document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  say(status === 404 ? "This is no longer there. Load the page again." : "That did not work. Nothing was changed; try again in a moment.");
});

document.addEventListener("htmx:sendError", () => {
  say("North cannot be reached. Nothing was changed; try again in a moment.");
});
