/** What `make setup` compiles of this folder. */
import { join } from 'node:path'

export const program = (name: 'end-lockers'): string => join(import.meta.dirname, 'build', name)
