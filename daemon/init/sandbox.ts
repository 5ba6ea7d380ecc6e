import { existsSync } from 'node:fs'

/** Where a sandbox has the runtime bundle, read-only. */
export const bundleMount = '/.hutch'

/** Whether this is the daemon of a sandbox: what is beside it there is a tenant's. */
export const isInSandbox = (): boolean => existsSync(`${bundleMount}/bin`)
