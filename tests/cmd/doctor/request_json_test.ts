/** Questions to an apiserver that answers, refuses, is silent, breaks off or is not there. */
import assert from "node:assert/strict";
import { requestJson } from "../../../cmd/doctor/request_json.ts";
import { systemClock } from "../../../lib/base/clock.ts";
import type { Fact } from "../../../lib/doctor/fact.ts";
import type { JsonQuestion, RequestJson } from "../../../lib/doctor/facts/cluster_reading.ts";
import { FakeCommands } from "../../../lib/kernel/fake_commands.ts";
import { FakeApiserver, type Override, refusal } from "../../fakes/apiserver.ts";

const version: JsonQuestion = { method: "GET", path: "/version" };

interface Rig {
  readonly server: FakeApiserver;
  readonly ask: RequestJson;
  /** Asks with a signal that nobody aborts. */
  answerTo(question: JsonQuestion): Promise<Fact<unknown>>;
}

async function withServer(
  { override, patienceMs, withoutCluster }: {
    readonly override?: Override;
    readonly patienceMs?: number;
    readonly withoutCluster?: string;
  },
  use: (rig: Rig) => Promise<void>,
): Promise<void> {
  await using server = await FakeApiserver.start();
  server.override = override;
  const kubeconfig = await Deno.makeTempFile();
  const stop = new AbortController();
  try {
    const cluster = {
      server: server.url,
      "certificate-authority-data": btoa(server.authority.certificate),
    };
    await Deno.writeTextFile(
      kubeconfig,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "a", cluster }],
        contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
        users: [{ name: "a", user: { token: "secret" } }],
        "current-context": "a",
      }),
    );
    const ask = requestJson({
      kubeconfig,
      env: () => undefined,
      commands: new FakeCommands(),
      clock: systemClock,
      withoutCluster,
      signal: stop.signal,
      ...(patienceMs === undefined ? {} : { patienceMs }),
    });
    const answerTo = (question: JsonQuestion) => ask(question, new AbortController().signal);
    await use({ server, ask, answerTo });
  } finally {
    stop.abort();
    await Deno.remove(kubeconfig);
  }
}

function becauseOf(fact: Fact<unknown>, kind: "absent" | "lacking"): string {
  assert.ok(fact.kind === kind, JSON.stringify(fact));
  return fact.because;
}

const silent: Override = () => new Promise(() => {});

Deno.test("requestJson() gives what the apiserver says, and sends what is asked", async () => {
  const seen: string[] = [];
  const override: Override = ({ body, method, path }) => {
    seen.push(`${method} ${path} ${body}`);
    return Response.json({ major: "1" });
  };
  await withServer({ override }, async ({ answerTo }) => {
    assert.deepEqual(await answerTo(version), { kind: "value", value: { major: "1" } });
    await answerTo({ method: "POST", path: "/reviews", body: { spec: 1 } });
    assert.deepEqual(seen, ["GET /version ", 'POST /reviews {"spec":1}']);
  });
});

Deno.test("requestJson() tells what is not there from what is forbidden, and goes on asking", async () => {
  const override: Override = ({ path }) => {
    if (path === "/none") {
      return refusal({ code: 404, reason: "NotFound", message: "there is no such thing" });
    }
    if (path === "/secret") {
      return refusal({ code: 403, reason: "Forbidden", message: "you may not see it" });
    }
    return Response.json({});
  };
  await withServer({ override }, async ({ answerTo }) => {
    const none = await answerTo({ method: "GET", path: "/none" });
    assert.match(becauseOf(none, "absent"), /there is no such thing/);
    const secret = await answerTo({ method: "GET", path: "/secret" });
    assert.match(becauseOf(secret, "lacking"), /you may not see it/);
    assert.equal((await answerTo(version)).kind, "value");
  });
});

Deno.test("requestJson() gives up a silent apiserver once, for all questions", async () => {
  await withServer({ override: silent, patienceMs: 200 }, async ({ answerTo, server }) => {
    const first = await answerTo(version);
    assert.equal(becauseOf(first, "lacking"), "the apiserver did not answer in 0.2 s");
    const asked = server.requests.length;
    assert.deepEqual(await answerTo(version), first);
    assert.equal(server.requests.length, asked);
  });
});

Deno.test("requestJson() does not ask again where nobody listens, and names the server", async () => {
  await withServer({}, async ({ answerTo, server }) => {
    await server.stop();
    const [first, second] = [await answerTo(version), await answerTo(version)];
    assert.match(becauseOf(first, "lacking"), /127\.0\.0\.1:\d+/);
    assert.deepEqual(second, first);
  });
});

Deno.test("requestJson() says what is no JSON", async () => {
  const override: Override = () =>
    new Response("<html>", { headers: { "content-type": "text/html" } });
  await withServer({ override }, async ({ answerTo }) => {
    assert.match(becauseOf(await answerTo(version), "lacking"), /text\/html/);
  });
});

Deno.test("requestJson() asks nobody where that is wanted", async () => {
  await withServer({ withoutCluster: "not wanted" }, async ({ answerTo, server }) => {
    assert.deepEqual(await answerTo(version), { kind: "lacking", because: "not wanted" });
    assert.equal(server.requests.length, 0);
  });
});

Deno.test("requestJson() throws when whoever asks has no time left", async () => {
  await withServer({ override: silent }, async ({ ask }) => {
    await assert.rejects(ask(version, AbortSignal.timeout(50)), { name: "TimeoutError" });
  });
});
