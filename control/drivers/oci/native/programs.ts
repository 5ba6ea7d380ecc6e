/** Programs of ours that do what needs system calls Node lacks; `make setup` compiles each from the file beside. */
import { join } from 'node:path'

type Program = 'hold-namespaces' | 'merged-view' | 'renew-identity' | 'start-machine' | 'walk-layer' | 'with-disk'

export const program = (name: Program): string => join(import.meta.dirname, 'build', name)
