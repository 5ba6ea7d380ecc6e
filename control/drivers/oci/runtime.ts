/** The OCI runtimes and what each needs to be told. */
import { join } from 'node:path'
import type { Runtime } from './context.ts'
import { locate, tool } from './command.ts'
import type { Names } from './names.ts'

export const runtimeNames = ['runc', 'runsc', 'crun'] as const

/** Those that are installed. */
export const presentRuntimes = (): string[] => runtimeNames.filter(name => locate(name) !== undefined)

/** gVisor intercepts system calls with ptrace: it needs no KVM and works in any virtual machine. */
const extra: Readonly<Record<string, readonly string[]>> = {
  runsc: ['--platform=ptrace', '--network=sandbox', '--overlay=false', '--file-access=exclusive'],
}

/** Throws `driver_failed` naming what to install when it is not on the box. */
export const runtimeOf = (name: string, names: Names): Runtime => {
  const stateDir = join(names.runDir, name)
  return { name, file: tool(name), stateDir, args: ['--root', stateDir, ...(extra[name] ?? [])] }
}
