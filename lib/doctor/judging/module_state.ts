/** What is known of a module of the kernel. */
export { moduleState } from "../../kernel/inspection/module_inventory.ts";
