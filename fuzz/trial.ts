/** Attacks a service beside a modest client, one attack after the other, and compares what both got with the limits. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { selfSigned } from "../test/support/certificate.ts";
import type { Running, Target } from "./attack-client.ts";
import { storeMessages, type Attack } from "./attacks.ts";
import { ATTACKER, MeasuredService } from "./service.ts";
import { sendModestly, type Experience } from "./victim.ts";

export const MAX_TURN_MS = 50;
const MAX_HELD_MB = { strangers: 64, account: 128 };
const MAX_SLOWER = 3;
const MAX_ROUNDS = 6;
const MEBIBYTE = 1_048_576;

type Figures = Experience & { worstTurnMs: number; heldMb: number };
export type Result = Figures & {
  name: string;
  /** The p99 without the attack, in the same rounds; undefined if it is not judged. */
  idleMs: number | undefined;
  /** How many times that p99. */
  slower: number | undefined;
  violations: { turn?: string; memory?: string; refusals?: string; p99?: string };
};

/** `isQuiet`: no tests run beside the trial, so that the p99 is judged as well. */
type TrialOptions = {
  attacks: readonly Attack[];
  databaseUrl: string;
  seconds: number;
  isQuiet: boolean;
  onResult: (result: Result) => void;
};

/** Runs all attacks. Those on TLS have another node, with the same database. */
export async function runTrial(options: TrialOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "godwit-attack-"));
  const [certPath, keyPath] = [join(folder, "crt"), join(folder, "key")];
  const { cert, key } = selfSigned();
  writeFileSync(certPath, cert);
  writeFileSync(keyPath, key, { mode: 0o600 });
  try {
    for (const onTls of [false, true]) {
      const attacks = options.attacks.filter((attack) => (attack.onTls ?? false) === onTls);
      const tls: Record<string, string> = onTls ? { GODWIT_TLS_CERT: certPath, GODWIT_TLS_KEY: keyPath } : {};
      if (attacks.length > 0) await runOn(tls, { ...options, attacks });
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runOn(settings: Record<string, string>, { attacks, databaseUrl, seconds, isQuiet, onResult }: TrialOptions): Promise<void> {
  const all = { GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8", ...settings };
  const service = await MeasuredService.start({ roles: "api,dispatch,webhooks", databaseUrl, settings: all });
  try {
    const suffix = "GODWIT_TLS_CERT" in settings ? "-tls" : "";
    const { test: victim } = await service.createAccount(`victim${suffix}`);
    const target = {
      service,
      attackers: [await service.createAccount(`${ATTACKER}${suffix}`), await service.createAccount(`${ATTACKER}-2${suffix}`)],
    };
    await storeMessages(target);
    const measure = (attack: Pick<Attack, "begin">): Promise<Figures> => beside(target, victim, seconds, attack);
    for (const attack of attacks) onResult(await compare(attack, isQuiet && attack.startsNodes !== true, measure));
  } finally {
    await service.stop();
  }
}

const NOTHING = { begin: (): Running => ({ stop: async () => undefined }) };

/** Measures without the attack and with it, in turns, until the p99 is judged. Another program that uses the processors lengthens some phases of both
 *  kinds, so that the least p99 of each kind is compared; an attack lengthens every phase with it. */
async function compare(attack: Attack, isJudged: boolean, measure: (attack: Pick<Attack, "begin">) => Promise<Figures>): Promise<Result> {
  let idleMs = isJudged ? (await measure(NOTHING)).p99Ms : undefined;
  let figures = await measure(attack);
  let result = judge(attack, figures, idleMs);
  for (let round = 1; round < MAX_ROUNDS && idleMs !== undefined && result.violations.p99 !== undefined; round += 1) {
    idleMs = Math.min(idleMs, (await measure(NOTHING)).p99Ms);
    const again = await measure(attack);
    figures = { ...worseOf(figures, again), p99Ms: Math.min(figures.p99Ms, again.p99Ms) };
    result = judge(attack, figures, idleMs);
  }
  return result;
}

/** Runs the attack for some seconds beside the modest client. */
async function beside(target: Target, victim: string, seconds: number, { begin }: Pick<Attack, "begin">): Promise<Figures> {
  const { service } = target;
  const before = await service.heldBytes();
  const { result, worstTurnMs } = await service.measure(async () => {
    const running = await begin(target);
    const endModest = sendModestly(service.url, victim);
    await Promise.all([sleep(seconds * 1_000), running.done]);
    return { running, during: await service.heldBytes(), experience: await endModest() };
  });
  // The end of all connections at once is not measured.
  await result.running.stop();
  return { ...result.experience, worstTurnMs, heldMb: Math.max(0, result.during - before) / MEBIBYTE };
}

const worseOf = (one: Figures, other: Figures): Omit<Figures, "p99Ms"> => ({
  sent: one.sent + other.sent,
  refused: one.refused + other.refused,
  worstTurnMs: Math.max(one.worstTurnMs, other.worstTurnMs),
  heldMb: Math.max(one.heldMb, other.heldMb),
});

function judge({ name, by }: Attack, figures: Figures, idleMs: number | undefined): Result {
  const { worstTurnMs, heldMb, refused, sent, p99Ms } = figures;
  const slower = idleMs === undefined ? undefined : p99Ms / idleMs;
  const violations = {
    ...(worstTurnMs > MAX_TURN_MS && { turn: `a turn of ${worstTurnMs.toFixed(0)} ms` }),
    ...(heldMb > MAX_HELD_MB[by] && { memory: `${heldMb.toFixed(0)} MB held` }),
    ...(refused > 0 && { refusals: `${refused} of ${sent} requests refused` }),
    ...(slower !== undefined && slower > MAX_SLOWER && { p99: `${slower.toFixed(1)} times the p99` }),
  };
  return { name, ...figures, idleMs, slower, violations };
}
