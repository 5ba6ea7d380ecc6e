/** Every kind this host serves. A new one is a definition file and a line here. */
import type { Kind } from './resources/kind.ts'
import { sandboxKind } from './sandbox/kind.ts'
import type { AcceptDeps } from './sandbox/accept.ts'

export interface KindDeps extends AcceptDeps {}

export const resourceKinds = (deps: KindDeps): readonly Kind[] => [sandboxKind(deps)]
