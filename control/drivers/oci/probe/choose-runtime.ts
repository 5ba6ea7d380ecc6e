/** Which runtime starts machines where the operator names none. */
import type { Clock } from '../../../../shared/clock.ts'
import { messageOf } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import type { DriverConfig } from '../../module.ts'
import { run, tool } from '../command.ts'
import { presentRuntimes } from '../runtime.ts'
import { carryOut, withScratch } from './check.ts'
import { ownUsers, startsContainer } from './runtime.ts'

export type RuntimeChoice = Pick<DriverConfig, 'dataDir' | 'runtime' | 'bundleDir' | 'userNamespaces'>

export interface ChoiceDeps {
  readonly clock: Clock
  readonly log?: Log
  /** What `crun --version` says. */
  readonly crunSays?: () => Promise<string>
}

export interface Choice {
  readonly runtime: string
  /** It was seen to start a container with users of its own, which need not be tried again. */
  readonly hasOwnUsers: boolean
}

/** The oldest crun that the tests have run on. What older ones do with all of a machine's configuration is not known. */
const [leastMajor, leastMinor] = [1, 8]

const askCrun = (): Promise<string> => run({ step: 'version', file: tool('crun'), args: ['--version'] })

/** Why it is too old; undefined when it is not. */
const tooOld = (said: string): string | undefined => {
  const [, major, minor] = /^crun version (\d+)\.(\d+)/m.exec(said)?.map(Number) ?? []
  if (major === undefined || minor === undefined) return `crun says "${said.trim().slice(0, 80)}", and not its version`
  const isOld = major < leastMajor || (major === leastMajor && minor < leastMinor)
  return isOld ? `crun ${major}.${minor} is older than ${leastMajor}.${leastMinor}` : undefined
}

/**
 * The runtime that is configured. `auto` is crun where one of the versions that are known is installed and starts a container as machines
 * are to be, with users of their own unless the operator wants none; else runc, which takes three times the processor for the same walls.
 * One that is installed and does not serve is logged.
 */
export const chooseRuntime = async (
  { dataDir, runtime, bundleDir, userNamespaces }: RuntimeChoice,
  { clock, log, crunSays = askCrun }: ChoiceDeps,
  signal?: AbortSignal,
): Promise<Choice> => {
  const untried = (name: string): Choice => ({ runtime: name, hasOwnUsers: false })
  if (runtime !== 'auto') return untried(runtime)
  if (!presentRuntimes().includes('crun')) return untried('runc')
  const hasOwnUsers = userNamespaces !== 'off'
  const check = hasOwnUsers ? ownUsers({ runtime: 'crun', bundleDir, required: false }) : startsContainer('crun')
  const trial = async () => {
    const { ok, what } = await withScratch(dataDir, clock, signal, probe => carryOut(check, probe))
    return ok ? undefined : what
  }
  const reason = (await crunSays().then(tooOld, messageOf)) ?? (await trial())
  if (reason === undefined) return { runtime: 'crun', hasOwnUsers }
  log?.info('runtime.runc', { reason })
  return untried('runc')
}
