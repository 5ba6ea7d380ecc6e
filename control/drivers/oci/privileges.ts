/** What the host process itself may give away: a container in a container is often root without CAP_SYS_RESOURCE. */
import { readFile } from 'node:fs/promises'

export interface Privileges {
  /** May lower OOM scores and raise hard limits (CAP_SYS_RESOURCE). */
  readonly raisesLimits: boolean
  /** Hard limit of open files. */
  readonly openFiles: number
}

const sysResource = 24n

/** From the texts of `/proc/self/status` and `/proc/self/limits`. */
export const privilegesFrom = (status: string, limits: string): Privileges => {
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  const files = /^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1]
  return {
    raisesLimits: ((effective >> sysResource) & 1n) === 1n,
    openFiles: files === 'unlimited' ? 1_048_576 : Number(files ?? 4_096),
  }
}

export const readPrivileges = async (): Promise<Privileges> =>
  privilegesFrom(await readFile('/proc/self/status', 'utf8'), await readFile('/proc/self/limits', 'utf8'))
