/** Sets as `ipset save` prints them: what people know. */
import { HASH_SIZE, type IpsetDefinition, MAX_MEMBERS } from "./ipset.ts";
import { kindOfSet } from "./errors.ts";

/**
 * `create KUBE-CLUSTER-IP hash:ip,port family inet hashsize 1024 maxelem 65536`. Members follow as
 * `add KUBE-CLUSTER-IP 10.96.0.1,tcp:80`.
 */
export function setText(set: IpsetDefinition): string {
  const size = set.type === "bitmap:port"
    ? "range 0-65535"
    : `hashsize ${HASH_SIZE} maxelem ${MAX_MEMBERS}`;
  return `create ${set.name} ${kindOfSet(set)} ${size}`;
}
