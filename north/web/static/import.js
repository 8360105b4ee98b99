// Settings → Import: a file starts as soon as it is chosen or dropped anywhere on the page, and one sees how far it is.
"use strict";

const file = document.getElementById("import-file");
const chosen = document.getElementById("import-chosen");
const going = file.querySelector(".drop-going");
const rest = file.querySelector(".drop-rest");
const sent = document.getElementById("import-sent");
const MEGABYTE = 1_000_000;

chosen.addEventListener("change", () => {
  if (chosen.files.length) file.requestSubmit();
});

document.addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  file.classList.add("is-over");
});

document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) file.classList.remove("is-over");
});

document.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  file.classList.remove("is-over");
  if (isGoing()) return;
  if (event.dataTransfer.files.length > 1) say("One file at a time: import the others afterwards, or as one ZIP file.");
  const first = new DataTransfer();
  first.items.add(event.dataTransfer.files[0]);
  chosen.files = first.files;
  file.requestSubmit();
});

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt !== file) return;
  const limit = Number(file.dataset.limit);
  if (chosen.files[0].size <= limit) return begin();
  event.preventDefault();
  refuse(`This file has ${megabytes(chosen.files[0].size)}; at most ${megabytes(limit)} are allowed. Import its parts one by one.`);
  file.reset();
});

document.addEventListener("htmx:xhr:progress", (event) => {
  if (event.detail.elt !== file || !isGoing() || event.detail.total < chosen.files[0].size) return;
  show(event.detail.loaded, event.detail.total);
});

// Sent, refused, cancelled or cut off: the field is ready for the next one.
document.addEventListener("htmx:afterRequest", (event) => {
  const form = event.detail.elt;
  if (form.id === "import-file") end();
  else if (event.detail.successful && form.closest(".paste")) {
    form.reset();
    form.closest(".paste").open = false;
  }
});

document.getElementById("import-stop").addEventListener("click", () => {
  htmx.trigger(file, "htmx:abort");
  say("Cancelled. Nothing of the file was kept.");
});

addEventListener("beforeunload", (event) => {
  if (isGoing()) event.preventDefault();
});

function isGoing() {
  return !going.hidden;
}

function begin() {
  document.getElementById("import-refused").replaceChildren();
  document.getElementById("import-going").textContent = `Sending ${chosen.files[0].name}`;
  document.getElementById("import-said").textContent = `Sending ${chosen.files[0].name}`;
  show(0, chosen.files[0].size);
  rest.hidden = true;
  going.hidden = false;
  document.getElementById("import-stop").focus();
}

function end() {
  const at = document.activeElement;
  going.hidden = true;
  rest.hidden = false;
  file.reset();
  if (at === document.getElementById("import-stop")) chosen.focus();
}

function show(loaded, total) {
  sent.value = total ? (100 * loaded) / total : 100;
  document.getElementById("import-sent-part").textContent = `${megabytes(loaded)} of ${megabytes(total)}`;
}

function refuse(words) {
  const problem = document.createElement("p");
  problem.className = "problem";
  problem.setAttribute("role", "alert");
  problem.textContent = words;
  document.getElementById("import-refused").replaceChildren(problem);
}

function megabytes(bytes) {
  return `${(bytes / MEGABYTE).toLocaleString(undefined, { maximumFractionDigits: bytes < 10 * MEGABYTE ? 1 : 0 })} MB`;
}
