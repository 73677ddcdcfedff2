/** Which address families a proxy programs. */
import { ipFamilies, type IpFamily } from "../base/ip_family.ts";
import type { Logger } from "../base/log.ts";
import type { IpFamilyPolicy } from "../config/internal.ts";
import type { Probe } from "../writers/writer.ts";

/** What the choice depends on. */
export interface FamilyChoice {
  readonly mode: string;
  readonly policy: IpFamilyPolicy;
  readonly primary: IpFamily;
  readonly logger: Logger;
  /** Asked once for each family. */
  readonly probe: (family: IpFamily) => Promise<Probe>;
}

/**
 * The families that this kernel can serve and the policy wants, IPv4 first. Throws where the primary
 * one is missing, or any that the policy requires.
 */
export async function chooseFamilies(choice: FamilyChoice): Promise<readonly IpFamily[]> {
  const { mode, policy, primary, logger } = choice;
  const wanted = policy === "SingleStack" ? [primary] : ipFamilies;
  const usable: IpFamily[] = [];
  for (const family of wanted) {
    const probe = await choice.probe(family);
    if (probe.kind === "supported") {
      usable.push(family);
      continue;
    }
    const cause = `Cannot program ${family} in ${mode} mode: ${probe.reason}`;
    if (family === primary) throw new Error(cause);
    if (policy === "RequireDualStack") {
      throw new Error(`${cause}; the configuration requires both families (ipFamilyPolicy)`);
    }
    logger.info("Running with one address family only", { missing: family, reason: probe.reason });
  }
  return usable;
}
