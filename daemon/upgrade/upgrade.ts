/** The upgrade as a whole: one at a time, in the background, told step by step in /health. */
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

/** Gives the caller time to read the answer before its daemon goes. */
const delayMs = 500

export interface UpgradeDeps extends Omit<RehearseDeps, 'clock'> {
  readonly clock: Clock
  readonly log: Log
  readonly jitter: () => number
  readonly config: Pick<Config, 'devMode' | 'releasesUrl' | 'releasesDir' | 'upgradeDir'>
  /** How the upgrade that brought this daemon ended, if one did. */
  readonly last?: LastUpgrade | undefined
  /** Becomes the program, which is to report `done`; comes back only by throwing. */
  readonly replace: (what: Startable, done: LastUpgrade) => Promise<void>
  /** Keeps the sandbox from sleeping in the middle; the returned function lets it. */
  readonly hold: () => () => void
  /** Digest of the bundle that runs. */
  readonly digest: () => Promise<string | undefined>
}

export interface Upgrades {
  last(): LastUpgrade
  /** Begins one in the background. Throws `wrong_state` while one is under way. */
  start(release: Release): void
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
  close(): Promise<void>
}

const headOf = async (file: FileHandle): Promise<Buffer> => {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0)
  return buffer.subarray(0, bytesRead)
}

/** Why this daemon is not to be replaced by that release, or undefined. */
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

export const createUpgrades = (deps: UpgradeDeps): Upgrades => {
  const { clock, log, config, replace } = deps
  const stop = new AbortController()
  let state: LastUpgrade = deps.last ?? { status: 'idle', step: 'none', version: '' }
  let underWay: Promise<void> | undefined
  const step = (change: Partial<LastUpgrade>) => {
    state = { ...state, ...change }
    log.info('upgrade.step', state)
  }

  /** Fetches into a file without a name; the caller closes what it gets. */
  const fetchProgram = async (url: string): Promise<FileHandle> => {
    await mkdir(config.upgradeDir, { recursive: true, mode: 0o700 })
    const file = await openAnonymous(config.upgradeDir)
    try {
      const bytesDownloaded = await download(url, file, deps, stop.signal)
      step({ step: 'validate', bytesDownloaded })
      checkProgram(await headOf(file), bytesDownloaded)
      return await reopenReadOnly(file)
    } finally {
      await file.close()
    }
  }

  const change = async (what: Startable): Promise<void> => {
    await rehearse(what, deps, stop.signal)
    step({ step: 'replace' })
    await replace(what, { ...state, status: 'completed', step: 'completed' })
  }

  const fromBundle = async ({ version }: Release): Promise<void> => {
    step({ step: 'validate' })
    const bundle = await bundleIn(config.releasesDir, version)
    step({ binaryPath: bundle.dir })
    if (bundle.digest === (await deps.digest())) return step({ status: 'completed', step: 'skipped' })
    await change(bundle.command)
  }

  const run = async (release: Release): Promise<void> => {
    await clock.sleep(delayMs, stop.signal)
    const why = refusal(config, release)
    if (why) return step({ status: 'failed', step: 'skipped', error: why })
    if (release.baseUrl === channelOf(config.releasesDir)) return fromBundle(release)
    const downloadUrl = assetUrl(release, assetName(process.platform, process.arch))
    step({ step: 'download', downloadUrl })
    const program = await fetchProgram(downloadUrl)
    try {
      await change(program.fd)
    } finally {
      await program.close()
    }
  }

  return {
    last: () => state,
    start(release) {
      if (underWay)
        throw fail('wrong_state', { kind: 'upgrade', name: state.version, state: 'running', wanted: 'another' })
      state = {
        status: 'running',
        step: 'starting',
        version: release.version,
        lastAttempt: rfc3339Seconds(clock.now()),
      }
      const letGo = deps.hold()
      underWay = run(release)
        .catch(error => step({ status: 'failed', error: messageOf(error) }))
        .finally(() => {
          letGo()
          underWay = undefined
        })
    },
    settled: async () => underWay,
    async close() {
      stop.abort(new Error('the daemon is closing'))
      await underWay
    },
  }
}
