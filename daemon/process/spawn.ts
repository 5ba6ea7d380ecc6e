import { existsSync } from 'node:fs'
import { errno, fail, messageOf } from '../../shared/errors.ts'
import type { Environment } from '../environment.ts'
import { identityEnvironment, type Identity } from '../identity/index.ts'
import { tenantOomScore } from '../init/protect.ts'
import { spawnProcess, type SpawnError } from '../native/spawn/spawn.ts'

/** How all tenant processes are started. */
export interface Workload {
  readonly environment: Environment
  readonly identity: () => Identity | undefined
  /** Capability bits that tenants lose; none where the daemon cannot drop them. */
  readonly dropCapabilities: bigint | undefined
}

export interface Launch {
  readonly command: string
  readonly workingDir: string
  /** The directory as the caller wrote it, for the error. */
  readonly givenDir: string
  readonly env: Readonly<Record<string, string>>
  /** stdin, stdout, stderr; a negative stdin is /dev/null. */
  readonly descriptors: readonly [number, number, number]
}

/** A shell without a path is looked up in these directories only, and not in a tenant's PATH. */
const shellDirs = ['/bin', '/usr/bin', '/usr/local/bin']
export const shellPath = (shell: string): string => {
  if (shell.startsWith('/')) return shell
  return shellDirs.map(dir => `${dir}/${shell}`).find(path => existsSync(path)) ?? `/bin/${shell}`
}

const isSpawnError = (error: unknown): error is SpawnError => error instanceof Error && 'stage' in error

const hints: Readonly<Record<string, string>> = {
  EAGAIN: '; the limit of processes is reached, end some',
  // MAX_ARG_STRLEN of the kernel.
  E2BIG: '; a command and each variable may hold 128 KiB, put a longer one into a file',
}

const refusal = (error: unknown, { command, givenDir }: Launch, shell: string): unknown => {
  if (!isSpawnError(error)) return error
  const code = errno(error)
  if (error.stage === 'directory') {
    const why =
      code === 'ENOENT' ? 'does not exist' : code === 'ENOTDIR' ? 'is not a folder' : `cannot be entered (${code})`
    return fail(
      'unprocessable',
      { reason: `could not execute command '${command}' because folder '${givenDir}' ${why}` },
      error,
    )
  }
  if (error.stage === 'exec' && code === 'ENOENT')
    return fail('unprocessable', { reason: `failed to start process: the shell ${shell} does not exist` }, error)
  const hint = hints[code ?? ''] ?? ''
  return fail('unprocessable', { reason: `failed to start process: ${messageOf(error)}${hint}` }, error)
}

/**
 * Starts `$SHELL $SHELL_ARGS command` in a session of its own and returns its pid. Throws `unprocessable`, and then
 * nothing was started.
 */
export const launch = (workload: Workload, wanted: Launch): number => {
  const { environment, dropCapabilities } = workload
  const identity = workload.identity()
  const shell = shellPath(environment.get('SHELL') || 'sh')
  const shellArgs = (environment.get('SHELL_ARGS') || '-c').split(/\s+/).filter(Boolean)
  try {
    return spawnProcess({
      file: shell,
      args: [shell, ...shellArgs, wanted.command],
      env: identityEnvironment(identity, { ...environment.all(), ...wanted.env }),
      cwd: wanted.workingDir,
      descriptors: wanted.descriptors,
      session: true,
      oomScore: tenantOomScore,
      ...(identity ? { credentials: identity } : {}),
      ...(dropCapabilities === undefined ? {} : { dropCapabilities }),
    })
  } catch (error) {
    throw refusal(error, wanted, shell)
  }
}
