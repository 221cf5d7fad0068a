// Decodes several sequences at once with llama.cpp (node-llama-cpp, unmodified) and prints what came out as one JSON line.
//
// Each sequence behaves like a stream of requests: a prompt of some length, then an answer of some length, then the next
// request. The sequences start one after another, so that batches grow from one row to all of them and prefill falls
// among decoding. Lengths come from a seeded generator: two runs see the same requests.
//
// usage: node decode.mjs --model FILE [--gpu cuda|off] [--sequences 4] [--seconds 10 | --tokens N] [--threads 0]
//                        [--stagger-ms 300] [--flash-attention on|off|auto]
// STALLSCOPE_ENGINE names the folder whose node_modules holds node-llama-cpp (tools/setup --paths prints it).
//
// Output: {"backend":"cuda"|"cpu","device":"...","sequences","threads","requests","tokens","prompt_tokens","batches",
//          "seconds","tokens_per_s","load_seconds"}. tokens counts generated tokens only; batches counts llama_decode calls
// (null when the binding does not let us count); seconds is from the first request to the last token.
import path from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    model: { type: "string" },
    gpu: { type: "string", default: "off" },
    sequences: { type: "string", default: "4" },
    seconds: { type: "string" },
    tokens: { type: "string" },
    threads: { type: "string", default: "0" },
    "stagger-ms": { type: "string", default: "300" },
    "flash-attention": { type: "string", default: "auto" },
  },
});

function fail(message) {
  console.error(`decode: ${message}`);
  process.exit(1);
}
function positive(name) {
  const value = Number(options[name]);
  if (!(value > 0)) fail(`--${name} takes a positive number, not "${options[name]}"`);
  return value;
}
if (options.model == null) fail("--model FILE is missing (tests/demo/write_gguf.py writes one)");
if (!["cuda", "off"].includes(options.gpu)) fail(`--gpu takes cuda or off, not "${options.gpu}"`);
const engine = process.env.STALLSCOPE_ENGINE;
if (!engine) fail("STALLSCOPE_ENGINE is not set: run tools/setup, then eval \"$(tools/setup --paths)\"");

const sequences = positive("sequences");
const tokenLimit = options.tokens == null ? Infinity : positive("tokens");
const secondsLimit = options.seconds == null ? (tokenLimit === Infinity ? 10 : Infinity) : positive("seconds");
const threads = Number(options.threads);
const staggerMs = Number(options["stagger-ms"]);
const flashAttention = { on: true, off: false, auto: "auto" }[options["flash-attention"]] ?? "auto";

const kContextTokensPerSequence = 512;
const kPromptTokens = { min: 8, max: 64 };
const kAnswerTokens = { min: 32, max: 160 };
const kFirstWordToken = 259;  // after the control and byte tokens of write_gguf.py's vocabulary

// A small linear congruential generator (Numerical Recipes' constants): enough for lengths and prompts, and seeded.
function generator(seed) {
  let state = seed >>> 0;
  return (range) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return range.min + Math.floor((state / 2 ** 32) * (range.max - range.min + 1));
  };
}

const loadBegin = performance.now();
const { getLlama, LlamaLogLevel } = await import(
  pathToFileURL(path.join(engine, "node_modules/node-llama-cpp/dist/index.js")));
// build: "never" and skipDownload: take the prebuilt binary or fail; nothing is compiled or fetched here.
const llama = await getLlama({
  gpu: options.gpu === "cuda" ? "cuda" : false,
  build: "never",
  skipDownload: true,
  progressLogs: "stderr",
  logLevel: LlamaLogLevel.error,
  ...(threads > 0 ? { maxThreads: threads } : {}),
});
const model = await llama.loadModel({
  modelPath: options.model,
  gpuLayers: options.gpu === "cuda" ? "max" : 0,
});
const context = await model.createContext({
  sequences,
  contextSize: kContextTokensPerSequence,
  batchSize: 512,
  flashAttention,
  ...(threads > 0 ? { threads: { ideal: threads, min: threads } } : {}),
});

let batches = null;
const native = context._ctx;
if (typeof native?.decodeBatch === "function") {
  const decodeBatch = native.decodeBatch.bind(native);
  batches = 0;
  // The method is read-only on the prototype, so the instance gets its own.
  Object.defineProperty(native, "decodeBatch", {
    value: () => {
      batches += 1;
      return decodeBatch();
    },
  });
}
const loadSeconds = (performance.now() - loadBegin) / 1000;

let stopping = false;
let tokens = 0;
let promptTokens = 0;
let requests = 0;
let lastTokenAt = 0;
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => { stopping = true; });

const begin = performance.now();
const finished = () =>
  stopping || tokens >= tokenLimit || performance.now() - begin >= secondsLimit * 1000;

async function serve(index) {
  await new Promise((resolve) => setTimeout(resolve, index * staggerMs));
  const next = generator(index + 1);
  const sequence = context.getSequence();
  while (!finished()) {
    await sequence.clearHistory();
    const prompt = Array.from({ length: next(kPromptTokens) },
                              () => next({ min: kFirstWordToken, max: kFirstWordToken + 255 }));
    const answerTokens = next(kAnswerTokens);
    requests += 1;
    promptTokens += prompt.length;
    let answered = 0;
    // Temperature 0 takes the most likely token; an end token is one like any other, since the weights are random.
    for await (const _ of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
      tokens += 1;
      answered += 1;
      lastTokenAt = performance.now();
      if (answered >= answerTokens || finished()) break;
    }
  }
  sequence.dispose();
}
await Promise.all(Array.from({ length: sequences }, (_, index) => serve(index)));

const seconds = Math.max(lastTokenAt - begin, 0) / 1000;
const device = options.gpu === "cuda" ? (await llama.getGpuDeviceNames()).join(", ") : "CPU";
const usedThreads = context.currentThreads;
console.log(JSON.stringify({
  backend: llama.gpu === false ? "cpu" : llama.gpu,
  device,
  sequences,
  threads: usedThreads,
  requests,
  tokens,
  prompt_tokens: promptTokens,
  batches,
  seconds: Number(seconds.toFixed(3)),
  tokens_per_s: seconds > 0 ? Number((tokens / seconds).toFixed(1)) : 0,
  load_seconds: Number(loadSeconds.toFixed(3)),
}));
await context.dispose();
await model.dispose();
await llama.dispose();
