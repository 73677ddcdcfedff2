/** How many times as long as elsewhere things may take: more than 1 on a machine that is emulated. */
export const patience = Number(Deno.env.get("KUBE_PROXY_TEST_PATIENCE") ?? 1);
