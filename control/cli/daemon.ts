/** `hutch daemon`: hutchd of the runtime bundle, alone on this machine. */
import { mkdir, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { bundleCommand } from '../../images/runtime/command.ts'
import { systemClock } from '../../shared/clock.ts'
import { silentLog } from '../../shared/log.ts'
import { loadConfig } from '../config.ts'
import { prepareDataDir } from '../data-dir.ts'
import { prepareRuntime } from '../runtime/prepare.ts'
import { misuse, type Invocation } from './command.ts'

/**
 * This process becomes the daemon, so that signals and the exit code are its own. Its records are in the data directory
 * unless the environment says otherwise.
 */
export const run = async ({ env, cwd, options }: Invocation): Promise<never> => {
  const { port = '8080', host = '127.0.0.1', workdir = '.' } = options as Record<string, string | undefined>
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw misuse(`--port must be between 0 and 65535, and is "${port}"`)
  const { HUTCH_DATA_DIR, HUTCH_BUNDLE_DIR } = env
  const config = loadConfig({ HUTCH_DATA_DIR, HUTCH_BUNDLE_DIR }, cwd)
  const dataDir = await prepareDataDir(config.dataDir, silentLog)
  await prepareRuntime(config, { log: silentLog, clock: systemClock() })
  const own = join(dataDir, 'daemon')
  await mkdir(own, { recursive: true, mode: 0o700 })
  const [loader, ...rest] = bundleCommand(await realpath(config.bundleDir), 'boot.js')
  const records = { SANDBOX_LOG_DIR: join(own, 'log'), HUTCH_STATE_DIR: join(own, 'state') }
  const { execve } = process
  if (!execve) throw misuse(`Node ${process.version} cannot become another program; use Node 24`)
  execve(loader, [loader, ...rest, '-port', port, '-host', host], {
    ...records,
    ...env,
    WORKDIR: resolve(cwd, workdir),
  })
  throw new Error('the daemon was not started')
}
