/** Starts a machine: one chain of `exec` from a private mount namespace to the runtime. */
import { readFile } from 'node:fs/promises'
import { execa } from 'execa'
import { errno, fail } from '../../../shared/errors.ts'
import { command } from '../../../shared/installation.ts'
import { tool, toolEnvironment } from './command.ts'
import type { MachineFiles } from './layout.ts'

export interface StartInput {
  readonly id: string
  readonly files: MachineFiles
  readonly runtime: { readonly file: string; readonly args: readonly string[] }
  /** Options of the overlay, or undefined when the root is a copy. */
  readonly overlay: string | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * The overlay is mounted where only this machine sees it, so that it goes when the machine goes and no crash of the
 * host leaves it behind. The process id is kept for whoever must end a start that its host did not outlive.
 */
const script = `
umask 077
exec >> "$4" 2>&1
echo $$ > "$1" || exit 1
if [ -n "$2" ]; then mount -t overlay -o "$2" overlay "$3" || exit 1; fi
umask 022
shift 4
exec "$@"
`

export const overlayOptions = (image: string, files: MachineFiles): string => {
  for (const path of [image, files.dir])
    if (/[,:\\"]/.test(path))
      throw fail('driver_failed', {
        driver: 'oci',
        step: 'overlay',
        reason: `"${path}" has a comma, colon, quote or backslash, which overlay mounts cannot name; move it`,
      })
  // Not `volatile`: what a tenant has synced is there after a power cut, and the machine starts again with it.
  return `lowerdir=${image},upperdir=${files.upper},workdir=${files.work}`
}

const tail = async (path: string): Promise<string> => {
  try {
    return (await readFile(path, 'utf8')).trim().slice(-1_500)
  } catch (error) {
    if (errno(error) === 'ENOENT') return ''
    throw error
  }
}

/** What the runtime and the daemon said, for an error. */
export const lastWords = async (files: MachineFiles): Promise<string> => {
  const said = await tail(files.output)
  if (said) return said
  return (await tail(files.runtimeLog)) || 'it said nothing'
}

/** Resolves when the first process runs. Throws `driver_failed` with what the runtime said. */
export const startMachine = async ({ id, files, runtime, overlay, signal }: StartInput): Promise<void> => {
  const mount = ['--mount', '--propagation', 'slave', '/bin/sh', '-c', script, 'sh']
  const places = [files.starter, overlay ?? '', files.root, files.output]
  const launch = [runtime.file, ...runtime.args, '--log', files.runtimeLog, '--log-format', 'json', 'run', '--detach']
  const result = await execa(tool('unshare'), [...mount, ...places, ...launch, '--bundle', files.dir, id], {
    stdio: 'ignore',
    env: toolEnvironment,
    extendEnv: false,
    ...(signal ? { cancelSignal: signal } : {}),
    killSignal: 'SIGKILL',
    timeout: 60_000,
    reject: false,
  })
  if (!result.failed) return
  signal?.throwIfAborted()
  const reason = result.timedOut ? 'no start within 60 s' : await lastWords(files)
  throw fail('driver_failed', {
    driver: 'oci',
    step: 'start',
    reason: `${reason}; run ${command('doctor')} to see whether this runtime can start anything`,
  })
}
