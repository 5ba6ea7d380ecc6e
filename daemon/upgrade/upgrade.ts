/** The upgrade as a whole: one at a time, in the background; /health shows each step. */
import { mkdir, type FileHandle } from 'node:fs/promises'
import type { Clock } from '../../shared/clock.ts'
import { fail, messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { LastUpgrade } from '../../shared/wire/system.ts'
import type { Config } from '../config/config.ts'
import { rfc3339Seconds } from '../times.ts'
import { openAnonymous, reopenReadOnly } from './anonymous-file.ts'
import { bundleIn, channelOf } from './bundles.ts'
import { download } from './download.ts'
import type { Startable } from './program.ts'
import { rehearse, type RehearseDeps } from './rehearse.ts'
import { assetName, assetUrl, checkProgram, type Release } from './release.ts'

/** Gives the caller time to read the answer before the daemon is replaced. */
const delayMs = 500

export interface UpgradeDeps extends Omit<RehearseDeps, 'clock'> {
  readonly clock: Clock
  readonly log: Log
  readonly jitter: () => number
  readonly config: Pick<Config, 'devMode' | 'releasesUrl' | 'releasesDir' | 'upgradeDir'>
  /** How the upgrade that brought this daemon ended, if one did. */
  readonly last?: LastUpgrade | undefined
  /** Replaces this process by the program, which then reports `done`; returns only by throwing. */
  readonly replace: (what: Startable, done: LastUpgrade) => Promise<void>
  /** Keeps the sandbox awake until the returned function is called. */
  readonly hold: () => () => void
}

export interface Upgrades {
  last(): LastUpgrade
  /** Starts one in the background. Throws `wrong_state` while one is running. */
  start(release: Release): void
  /** Resolves when none is running. */
  settled(): Promise<void>
  close(): Promise<void>
}

const headOf = async (file: FileHandle): Promise<Buffer> => {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
  return buffer.subarray(0, bytesRead)
}

/** Why this daemon must not be replaced by that release, or undefined. */
const refusal = (
  { devMode, releasesUrl, releasesDir }: UpgradeDeps['config'],
  release: Release,
): string | undefined => {
  if (devMode) return 'this daemon runs in development mode'
  if (release.baseUrl !== '' && release.baseUrl === channelOf(releasesDir)) return undefined
  if (releasesUrl === '') return 'this daemon has no release channel; the host replaces it together with its images'
  if (release.baseUrl !== releasesUrl) return `releases come from ${releasesUrl} only`
  return undefined
}

/** State shared by the steps of an upgrade. */
interface UpgradeContext extends UpgradeDeps {
  readonly stop: AbortController
  state: LastUpgrade
  running: Promise<void> | undefined
}

const step = (context: UpgradeContext, change: Partial<LastUpgrade>): void => {
  context.state = { ...context.state, ...change }
  context.log.info('upgrade.step', context.state)
}

/** Downloads into a file without a name; the caller closes the file it gets. */
const fetchProgram = async (context: UpgradeContext, url: string): Promise<FileHandle> => {
  const { config, stop } = context
  await mkdir(config.upgradeDir, { recursive: true, mode: 0o700 })
  const file = await openAnonymous(config.upgradeDir)
  try {
    const bytesDownloaded = await download(url, file, context, stop.signal)
    step(context, { step: 'validate', bytesDownloaded })
    checkProgram(await headOf(file), bytesDownloaded)
    return await reopenReadOnly(file)
  } finally {
    await file.close()
  }
}

const rehearseAndReplace = async (context: UpgradeContext, what: Startable): Promise<void> => {
  await rehearse(what, context, context.stop.signal)
  step(context, { step: 'replace' })
  await context.replace(what, { ...context.state, status: 'completed', step: 'completed' })
}

const upgradeToBundle = async (context: UpgradeContext, { version }: Release): Promise<void> => {
  step(context, { step: 'validate' })
  const bundle = await bundleIn(context.config.releasesDir, version)
  step(context, { binaryPath: bundle.dir })
  await rehearseAndReplace(context, bundle.command)
}

const upgradeToDownload = async (context: UpgradeContext, release: Release): Promise<void> => {
  const downloadUrl = assetUrl(release, assetName(process.platform, process.arch))
  step(context, { step: 'download', downloadUrl })
  const program = await fetchProgram(context, downloadUrl)
  try {
    await rehearseAndReplace(context, program.fd)
  } finally {
    await program.close()
  }
}

const run = async (context: UpgradeContext, release: Release): Promise<void> => {
  const { clock, config, stop } = context
  await clock.sleep(delayMs, stop.signal)
  const why = refusal(config, release)
  if (why) return step(context, { status: 'failed', step: 'skipped', error: why })
  if (release.baseUrl === channelOf(config.releasesDir)) return upgradeToBundle(context, release)
  return upgradeToDownload(context, release)
}

const start = (context: UpgradeContext, release: Release): void => {
  if (context.running)
    throw fail('wrong_state', { kind: 'upgrade', name: context.state.version, state: 'running', wanted: 'another' })
  const lastAttempt = rfc3339Seconds(context.clock.now())
  context.state = { status: 'running', step: 'starting', version: release.version, lastAttempt }
  const letSleep = context.hold()
  context.running = run(context, release)
    .catch(error => step(context, { status: 'failed', error: messageOf(error) }))
    .finally(() => {
      letSleep()
      context.running = undefined
    })
}

export const createUpgrades = (deps: UpgradeDeps): Upgrades => {
  const context: UpgradeContext = {
    ...deps,
    stop: new AbortController(),
    state: deps.last ?? { status: 'idle', step: 'none', version: '' },
    running: undefined,
  }
  return {
    last: () => context.state,
    start: release => start(context, release),
    settled: async () => context.running,
    async close() {
      context.stop.abort(new Error('the daemon is closing'))
      await context.running
    },
  }
}
