import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openStore } from '../../../../../control/core/store/sqlite/open.ts'
import type { Store } from '../../../../../control/core/store/store.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { dice } from '../../../../support/records.ts'

const program = fileURLToPath(new URL('../../../../programs/store-writer.ts', import.meta.url))

/** Runs the writer until it has said `lines` lines, kills it in the midst of the next ones; versions it acknowledged. */
const writeAndKill = async (t: Test, path: string, round: number, lines: number): Promise<Map<string, number>> => {
  const child = spawn(process.execPath, [program, path, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const acknowledged = new Map<string, number>()
  let count = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const [uid = '', version] = line.split(' ')
    acknowledged.set(uid, Number(version))
    if (++count === lines) child.kill('SIGKILL')
  }
  t.same(await exited, [null, 'SIGKILL'])
  return acknowledged
}

/** A resource, its machine, its events and its intervals tell the same story: no transaction is there by half. */
const checkWhole = async (t: Test, { resources, instances, meter }: Store, uid: string, atLeast: number) => {
  const found = await resources.getByUid(uid)
  const version = found?.version ?? 0
  t.ok(version === atLeast || version === atLeast + 1, `${uid}: ${atLeast} acknowledged, ${version} stored`)
  t.same(found?.spec, { version })
  t.equal((await instances.get(uid))?.version, version)
  const versions = Array.from({ length: version }, (_, index) => index + 1)
  const events = await resources.events(uid)
  t.same(
    events.map(({ message }) => Number(message)),
    versions,
  )
  const intervals = await meter.intervals(uid)
  t.same(
    intervals.map(({ quantity }) => quantity),
    versions,
  )
  t.same(
    intervals.map(({ to }) => to),
    [...intervals.slice(1).map(({ from }) => from), null],
    'each ends where the next one starts, the last is open',
  )
}

t.test('whatever was acknowledged is there after kill -9, and nothing is there by half', async t => {
  const path = join(t.testdir(), 'hutch.db')
  const roll = dice(Number(process.pid))
  const acknowledged = new Map<string, number>()
  for (let round = 0; round < 5; round++) {
    const lines = 1 + Math.floor(roll() ** 2 * 400)
    for (const [uid, version] of await writeAndKill(t, path, round, lines)) acknowledged.set(uid, version)
    const store = await openStore({ path }, { log: silentLog })
    t.equal((await store.resources.everyOf('sandbox')).length >= acknowledged.size, true)
    for (const [uid, version] of acknowledged) await checkWhole(t, store, uid, version)
    await store.close()
  }
})
