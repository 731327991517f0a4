// Plays tests/frameworks/scenario.py with the Vercel AI SDK on Node and writes its own spans as one OTLP JSON request.
//   npm install ai@6 @ai-sdk/openai@3 zod @opentelemetry/api @opentelemetry/sdk-trace-node @opentelemetry/otlp-transformer
//   python vercel_ai.py vercel_ai.mjs vercel_ai.json     (starts the scripted model and calls this)
import { writeFileSync } from "node:fs";
import { createOpenAI } from "@ai-sdk/openai";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

// Nothing of the machine that recorded it.
Error.stackTraceLimit = 0;

const [baseURL, session, file] = process.argv.slice(2);
const exporter = new InMemorySpanExporter();
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();

const numbers = z.object({ a: z.number(), b: z.number() });
const leaving = new AbortController();
const hanging = new AbortController();
const tools = {
  add: tool({ description: "Add two numbers.", inputSchema: numbers, execute: async ({ a, b }) => a + b }),
  fail: tool({
    description: "Fail.",
    inputSchema: z.object({ reason: z.string() }),
    execute: async ({ reason }) => {
      throw new TypeError(reason);
    },
  }),
  wait: tool({
    description: "Wait.",
    inputSchema: z.object({ seconds: z.number() }),
    execute: async ({ seconds }) => {
      const limit = AbortSignal.timeout(50);
      await new Promise((done, fail) => {
        const timer = setTimeout(done, seconds * 1000);
        limit.addEventListener("abort", () => (clearTimeout(timer), fail(limit.reason)));
      });
    },
  }),
  hang: tool({
    description: "Never answer.",
    inputSchema: z.object({ name: z.string() }),
    execute: async (_, { abortSignal }) =>
      await new Promise((_, fail) => {
        abortSignal.addEventListener("abort", () => fail(abortSignal.reason));
        setTimeout(() => hanging.abort(), 20);
      }),
  }),
};
const messages = [];
const given = {
  model: createOpenAI({ baseURL, apiKey: "none" }).chat("scripted"),
  messages,
  tools,
  stopWhen: stepCountIs(4),
  maxRetries: 0,
  experimental_telemetry: { isEnabled: true, functionId: "tester", metadata: { sessionId: session } },
};

function ask(text) {
  messages.push({ role: "user", content: text });
  return given;
}

async function turn(text) {
  messages.push(...(await generateText(ask(text))).response.messages);
}

for (const text of ["add", "fail", "wait", "both"]) await turn(text);

const streamed = streamText(ask("stream"));
await streamed.consumeStream();
messages.push(...(await streamed.response).messages);

const left = streamText({ ...ask("leave"), abortSignal: leaving.signal });
for await (const _ of left.textStream) break;
leaving.abort();
await new Promise((done) => setTimeout(done, 100));

await generateText({ ...ask("hang"), abortSignal: hanging.signal }).catch(() => {});
await turn("add again");

writeFileSync(file, JsonTraceSerializer.serializeRequest(exporter.getFinishedSpans()));
