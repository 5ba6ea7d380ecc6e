/** Every kind this host serves, by its name. A new one is a definition file and a line here. */
import type { Kind } from './resources/kind.ts'
import { sandboxKind, type SandboxDeps } from './sandbox/kind.ts'

export interface KindDeps extends SandboxDeps {}

export const createKinds = (deps: KindDeps) => ({ sandbox: sandboxKind(deps) }) satisfies Record<string, Kind>

export type Kinds = ReturnType<typeof createKinds>
