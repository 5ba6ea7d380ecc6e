/** `hutch drain`: no new sandboxes, until it is undone. */
import { rm } from 'node:fs/promises'
import { systemClock } from '../../shared/clock.ts'
import { randomIds } from '../../shared/ids.ts'
import { loadConfig } from '../base/config.ts'
import { drainFile } from '../ops/drain.ts'
import { writeDurably } from '../base/durable.ts'
import type { Tallied, Store } from '../core/store/store.ts'
import { existingDatabase, withExistingStore } from './existing-store.ts'
import { misuse, type Invocation } from './command.ts'

const sum = (tallied: readonly Tallied[], statuses: readonly string[]): number =>
  tallied.filter(({ status }) => statuses.includes(status)).reduce((all, { count }) => all + count, 0)

/** Machines that are neither asleep nor ended by themselves. */
const awake = ['starting', 'running', 'restarting', 'stopping']

const countsOf = async ({ upkeep }: Store) => {
  const { instances } = await upkeep.tally([])
  return { awake: sum(instances, awake), asleep: sum(instances, ['standby']) }
}

const drain = async (store: Store, { say, options }: Invocation): Promise<void> => {
  const clock = systemClock()
  let counts = await countsOf(store)
  say(`draining: no new sandboxes; ${counts.awake} awake, ${counts.asleep} asleep`)
  while (options['wait'] && counts.awake > 0) {
    await clock.sleep(500)
    const before = counts.awake
    counts = await countsOf(store)
    if (counts.awake !== before) say(`${counts.awake} awake, ${counts.asleep} asleep`)
  }
}

/** Works on the data directory, with or without a server running on it. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { env, cwd, options, words, say } = invocation
  if (words.length > 0) throw misuse('drain takes no words; see hutch drain --help')
  if (options['undo'] && options['wait']) throw misuse('--undo has nothing to wait for')
  const { dataDir } = loadConfig(env, cwd)
  existingDatabase(dataDir)
  if (options['undo']) {
    await rm(drainFile(dataDir), { force: true })
    say('new sandboxes are taken')
    return 0
  }
  await withExistingStore(dataDir, async store => {
    await writeDurably(drainFile(dataDir), '', randomIds())
    await drain(store, invocation)
  })
  return 0
}
