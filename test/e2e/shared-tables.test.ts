/**
 * A tenant takes all he can get of what the kernel has for all, as root and as a thousand users: his neighbour and the box
 * still have at least nine tenths of what they had alone. What is compared are numbers, not times.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { systemClock } from '../../shared/clock.ts'
import { whyNoMachines } from '../support/machine.ts'
import { server, type Server } from '../support/server.ts'
import { attackedMb, pending, sharedTables, type Attack } from '../support/shared-tables.ts'
import { sample } from '../support/thorough.ts'
import { whyNoOwnUsers } from '../support/users.ts'

const clock = systemClock()
const program = fileURLToPath(new URL('../programs/tables.py', import.meta.url))
const attacks: readonly Attack[] = sharedTables.flatMap(table => table.attacks)

type Runtime = 'runc' | 'runsc'
type Who = 'root' | 'ids'
type Counts = Record<string, { readonly count: number; readonly reason: string | null }>

const wanted = attacks.filter(attack => attack.usual > 0)
const usualOf = (some: readonly Attack[]): string => some.map(({ kind, usual }) => `${kind}=${usual}`).join(' ')
/** gVisor keeps all of it in the memory of one process, and is ended as a whole when that is not enough. */
const capsOf = (some: readonly Attack[], runtime: string): string =>
  some.map(({ kind, cap }) => `${kind}=${runtime === 'runsc' ? Math.ceil(cap / 20) : cap}`).join(' ')

const sandbox = async (s: Server, name: string): Promise<string> => {
  const spec = { runtime: { image: 'svc/base-image:latest', memory: attackedMb } }
  const { body } = await s.call('POST', '/v0/sandboxes', { metadata: { name }, spec })
  const { url } = body.metadata
  const content = readFileSync(program, 'utf8')
  t.equal((await s.call('PUT', `${url}/filesystem//root/tables.py`, { content })).status, 200)
  return url
}

/** What somebody gets who wants a usual amount. */
const countIn = async (s: Server, url: string, some: readonly Attack[]): Promise<Counts> => {
  const command = `python3 /root/tables.py count ${usualOf(some)}`
  const { body } = await s.call('POST', `${url}/process`, { command, waitForCompletion: true, timeout: 100 })
  return JSON.parse(body.stdout)
}

const countHere = (some: readonly Attack[]): Counts =>
  JSON.parse(execFileSync('python3', [program, 'count', ...usualOf(some).split(' ')], { encoding: 'utf8' }))

/** Takes all of `caps` at once, and resolves with what was taken, which is held. */
const take = async (s: Server, url: string, who: Who, name: string, caps: string): Promise<Counts> => {
  const command = `python3 /root/tables.py take ${who} ${caps}`
  t.equal((await s.call('POST', `${url}/process`, { name, command })).status, 200)
  for (const end = performance.now() + 100_000; performance.now() < end; await clock.sleep(20)) {
    const { body } = await s.call('GET', `${url}/process/${name}`)
    if (body.stdout.includes('\n')) return JSON.parse(body.stdout)
    if (body.status !== 'running') throw new Error(`the attack ended: ${body.logs}`)
  }
  throw new Error('the attack takes too long')
}

const giveBack = async (s: Server, url: string, name: string): Promise<void> => {
  t.equal((await s.call('DELETE', `${url}/process/${name}/kill`)).status, 200)
  const command = 'pkill -9 -f "[t]ables.py"; ipcrm --all'
  await s.call('POST', `${url}/process`, { command, waitForCompletion: true })
}

const unhurt = (t: Test, whose: string, some: readonly Attack[], alone: Counts, now: Counts): void => {
  for (const { kind } of some) {
    const before = alone[kind]?.count ?? 0
    const { count = 0, reason = 'nothing' } = now[kind] ?? {}
    t.ok(count >= 0.9 * before, `${kind} of ${whose}: ${count} of ${before} (${reason})`)
  }
}

interface Scene {
  readonly s: Server
  readonly runtime: Runtime
  readonly attacker: string
  readonly neighbour: string
  readonly alone: Counts
  readonly here: Counts
}

/** Attacks with `tried`, and looks what is left of `tried` for others. */
const attack = async (t: Test, scene: Scene, who: Who, tried: readonly Attack[]): Promise<Counts> => {
  const { s, runtime, attacker, neighbour, alone, here } = scene
  const name = `${who}-${tried.map(({ kind }) => kind.replaceAll('_', '-')).join('-')}`.slice(0, 40)
  const some = tried.filter(({ usual }) => usual > 0)
  const taken = await take(s, attacker, who, name, capsOf(tried, runtime))
  if (some.length > 0) {
    unhurt(t, 'the neighbour', some, alone, await countIn(s, neighbour, some))
    unhurt(t, 'the box', some, here, countHere(some))
  }
  const own = runtime === 'runc' ? some.filter(one => one.own) : []
  for (const [kind, { count }] of Object.entries(own.length > 0 ? await countIn(s, attacker, own) : {}))
    t.equal(count, 0, `${kind}: the attacker has taken all of his own`)
  if (runtime === 'runc')
    for (const { kind, cap, inUse } of tried) if (inUse) t.ok(inUse() > cap / 3, `${kind}: the box has ${inUse()}`)
  t.equal((await s.call('GET', `${attacker}/health`)).status, 200, 'nor is the daemon of the attacker')
  await giveBack(s, attacker, name)
  return taken
}

/** One kind after the other: of each, all that can be had. */
const oneByOne = async (t: Test, scene: Scene, who: Who): Promise<void> => {
  for (const tried of attacks) {
    const { kind, usual, bound } = tried
    const { count = -1, reason } = (await attack(t, scene, who, [tried]))[kind] ?? {}
    t.ok(count >= 0.9 * usual, `${count} ${kind} were taken (${reason})`)
    if (bound !== undefined) t.ok(count <= bound, `${kind}: ${count} of ${bound}`)
  }
}

/** The whole of it, where kinds take from each other what all are charged to. */
const allAtOnce = async (t: Test, scene: Scene, who: Who): Promise<void> => {
  const taken = await attack(t, scene, who, attacks)
  t.equal(Object.keys(taken).length, attacks.length)
  const queued = (taken['signals']?.count ?? 0) + (taken['timers']?.count ?? 0)
  if (scene.runtime === 'runc') t.ok(queued <= pending, `signals and timers: ${queued} of ${pending}`)
}

const suite = async (t: Test, runtime: Runtime): Promise<void> => {
  const s = await server(t, { HUTCH_RUNTIME: runtime, HUTCH_STANDBY_SECONDS: '3600' })
  const [attacker, neighbour] = (await Promise.all([sandbox(s, 'attacker'), sandbox(s, 'neighbour')])) as [
    string,
    string,
  ]
  const scene = { s, runtime, attacker, neighbour, alone: await countIn(s, neighbour, wanted), here: countHere(wanted) }
  for (const { kind } of wanted) t.ok((scene.alone[kind]?.count ?? 0) > 0, `there are ${kind} to be had`)
  // gVisor's tables are its own: there a thousand users take nothing that root could not.
  for (const who of sample(['root', 'ids'] as const, runtime === 'runc' ? 1 : 2))
    await t.test(`as ${who === 'root' ? 'root' : 'a thousand users'}`, async t => {
      if (runtime === 'runc') await oneByOne(t, scene, who)
      await allAtOnce(t, scene, who)
    })
}

const whyNot = async (runtime: Runtime): Promise<string | false> =>
  (runtime === 'runc' ? await whyNoOwnUsers(t.testdir()) : whyNoMachines(runtime)) ?? false

for (const runtime of ['runc', 'runsc'] as const)
  t.test(`tables of the kernel, with ${runtime}`, { skip: await whyNot(runtime) }, t => suite(t, runtime))
