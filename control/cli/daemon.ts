/** `hutch daemon`: hutchd of the runtime bundle, alone on this machine. */
import { mkdir, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { bundleCommandAtHome } from '../../shared/bundle.ts'
import { systemClock } from '../../shared/clock.ts'
import { messageOf } from '../../shared/errors.ts'
import { silentLog } from '../../shared/log.ts'
import { loadConfig } from '../base/config.ts'
import { prepareDataDir } from '../base/data-dir.ts'
import { readBundle } from '../drivers/oci/bundle.ts'
import { prepareRuntime } from '../core/runtime/prepare.ts'
import { misuse, type Invocation } from './command.ts'

/** Processes start where the daemon does, and paths of files begin in WORKDIR: both are to be the same. */
const enter = (directory: string): void => {
  try {
    process.chdir(directory)
  } catch (error) {
    throw misuse(`--workdir: ${messageOf(error)}`)
  }
}

/** Where the bundle is, and a directory for what the daemon writes down. */
const prepare = async ({ env, cwd }: Pick<Invocation, 'env' | 'cwd'>): Promise<{ bundle: string; own: string }> => {
  const { HUTCH_DATA_DIR, HUTCH_BUNDLE_DIR } = env
  const config = loadConfig({ HUTCH_DATA_DIR, HUTCH_BUNDLE_DIR }, cwd)
  const own = join(await prepareDataDir(config.dataDir, silentLog), 'daemon')
  await prepareRuntime(config, { log: silentLog, clock: systemClock() })
  await readBundle(config.bundleDir)
  await mkdir(own, { recursive: true, mode: 0o700 })
  return { bundle: await realpath(config.bundleDir), own }
}

/**
 * This process becomes the daemon, so that signals and the exit code are its own. Its records are in the data directory
 * unless the environment says otherwise.
 */
export const run = async ({ env, cwd, options }: Invocation): Promise<never> => {
  const { port = '8080', host = '127.0.0.1', workdir = '.' } = options as Record<string, string | undefined>
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw misuse(`--port must be between 0 and 65535, and is "${port}"`)
  const directory = resolve(cwd, workdir)
  enter(directory)
  const { bundle, own } = await prepare({ env, cwd })
  const [loader, ...rest] = bundleCommandAtHome(bundle, 'boot.js')
  const records = { SANDBOX_LOG_DIR: join(own, 'log'), HUTCH_STATE_DIR: join(own, 'state') }
  const { execve } = process
  if (!execve) throw new Error(`Node ${process.version} cannot become another program; use Node 24`)
  const flags = ['-port', port, '-host', host]
  return execve.call(process, loader, [loader, ...rest, ...flags], { ...records, ...env, WORKDIR: directory })
}
