/** Two servers that promise from one disk: together no more than it has. */
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openNeighbours, type Neighbours } from '../../../../../control/drivers/oci/disk/neighbours.ts'
import { openPledges } from '../../../../../control/drivers/oci/disk/pledges.ts'
import { filesOf } from '../../../../../control/drivers/oci/layout.ts'
import { fakeClock } from '../../../../support/clock.ts'

/** More than others write on the box meanwhile. */
const slackMb = 4_096

const box = (t: Test, ...tags: readonly string[]) => {
  const root = mkdtempSync(join(tmpdir(), 'hutch-neighbours-'))
  const elsewhere = mkdtempSync('/dev/shm/hutch-neighbours-')
  t.teardown(() => {
    for (const directory of [root, elsewhere]) rmSync(directory, { recursive: true, force: true })
  })
  const claimants = [...tags.map(tag => ({ tag, dataDir: join(root, tag) })), { tag: 'far', dataDir: elsewhere }]
  for (const { dataDir } of claimants) mkdirSync(dataDir, { recursive: true })
  const { bavail, bsize } = statfsSync(root)
  const neighbours = (tag: string): Neighbours => {
    const dataDir = claimants.find(one => one.tag === tag)?.dataDir ?? ''
    return openNeighbours({ dataDir, tag, runDirOf: of => join(root, 'run', of), claimants: async () => claimants })
  }
  const pledges = (tag: string, heard = neighbours(tag)) => {
    const clock = fakeClock()
    const dataDir = join(root, tag)
    const opened = openPledges({ dataDir, reserveMb: 0, promised: new Map(), neighbours: heard }, clock)
    return { ...opened, promise: (id: string, mb: number) => clock.tick(1_000).then(() => opened.promise(id, mb)) }
  }
  return { root, neighbours, pledges, freeMb: Math.floor((bavail * bsize) / 1024 / 1024) }
}

t.test('what one has promised the other cannot, until it is given back or written', async t => {
  const { root, pledges, neighbours, freeMb } = box(t, 'a', 'b')
  const [a, b] = [pledges('a'), pledges('b')]
  await a.promise('one', freeMb - slackMb)
  await t.rejects(b.promise('two', 2 * slackMb), { code: 'no_room' })
  await b.promise('two', 1)
  // A machine's own writing is in what the disk says.
  const { disk } = filesOf(join(root, 'a'), 'one')
  mkdirSync(join(disk, '..'), { recursive: true })
  const owed = await neighbours('b').owedMb()
  writeFileSync(disk, Buffer.alloc(2 * 1024 * 1024, 1))
  t.match(owed - (await neighbours('b').owedMb()), 2)
  a.forget('one')
  await b.promise('two', 2 * slackMb)
  t.equal(await neighbours('far').owedMb(), 0, 'one on another disk owes nothing here')
})

t.test('a promise of another build, under a name that is no machine here, is owed whole and stops nobody', async t => {
  const { pledges, neighbours } = box(t, 'a', 'b')
  neighbours('a').tell(new Map([['volume:one', 100]]), 0)
  t.equal(await neighbours('b').owedMb(), 100)
  await pledges('b').promise('two', 1)
})

t.test('of two that promise the same room at once, not both do', async t => {
  const { pledges, neighbours, freeMb } = box(t, 'a', 'b')
  const b = pledges('b')
  const most = freeMb - slackMb
  // Between its look and its word, the other has promised it.
  const told = neighbours('a')
  let looks = 0
  const a = pledges('a', {
    tell: told.tell,
    async owedMb() {
      const owed = await told.owedMb()
      if (looks++ === 0) await b.promise('two', most)
      return owed
    },
  })
  await t.rejects(a.promise('one', most), { code: 'no_room' })
  t.equal(looks, 2)
  t.equal(await neighbours('b').owedMb(), 0, 'it has taken back its word')
})

t.test(
  'a claim within what was told ahead writes nothing and reads nobody, and the other sees it as promised',
  async t => {
    const { pledges, neighbours, freeMb } = box(t, 'a', 'b')
    const told = neighbours('a')
    const calls: string[] = []
    const a = pledges('a', {
      tell: (promised, aheadMb) => (calls.push(`tell ${aheadMb > 0}`), told.tell(promised, aheadMb)),
      owedMb: () => (calls.push('look'), told.owedMb()),
    })
    const owed = () => neighbours('b').owedMb()
    await a.promise('one', 16)
    const first = await owed()
    t.ok(first > 16 + freeMb / 32 && first < 16 + freeMb / 8, `${first} MB are told`)
    t.same(calls.splice(0), ['tell false', 'look', 'tell true', 'look'])
    await a.promise('one', 128)
    const own = calls.splice(0)
    t.ok(own.length === 0 || (own.length === 1 && own[0] === 'look'), 'its own look at the disk at most')
    t.equal(await owed(), first)
    a.forget('one')
    t.equal(await owed(), first - 128, 'what is given back is told')
    await a.promise('two', first)
    t.ok((await owed()) > first + freeMb / 32, 'more is told once that is used up')
    // Nobody is told of room that is not there.
    const b = pledges('b')
    await b.promise('three', freeMb - slackMb - (await owed()))
    t.ok((await neighbours('a').owedMb()) + (await owed()) <= freeMb)
    await t.rejects(b.promise('four', 3 * slackMb), { code: 'no_room' })
  },
)

t.test('room that another has taken meanwhile is not told as one’s own', async t => {
  const { pledges, neighbours, freeMb } = box(t, 'a', 'b')
  const told = neighbours('a')
  const b = pledges('b')
  let looks = 0
  const a = pledges('a', {
    tell: told.tell,
    async owedMb() {
      const owed = await told.owedMb()
      if (looks++ === 0) await b.promise('two', Math.floor(freeMb * (1 - 1 / 32)))
      return owed
    },
  })
  await a.promise('one', 16)
  t.equal(await neighbours('b').owedMb(), 16)
})

t.test(
  'a look that left plenty serves for ten seconds where nobody has to be told, any other for half a second',
  async t => {
    const { root, neighbours, freeMb } = box(t, 'a')
    const opened = (reserveMb: number) => {
      const clock = fakeClock()
      const told = neighbours('a')
      const looks: string[] = []
      const heard: Neighbours = {
        tell: (promised, ahead) => told.tell(promised, ahead),
        owedMb() {
          looks.push(`at ${clock.elapsed()}`)
          return told.owedMb()
        },
      }
      const pledges = openPledges(
        { dataDir: join(root, 'a'), reserveMb, promised: new Map(), neighbours: heard },
        clock,
      )
      return { clock, looks, ...pledges }
    }
    const much = opened(freeMb - 32_768)
    const begun = much.clock.elapsed()
    await much.room()
    await much.clock.tick(9_000)
    await much.room()
    t.same(much.looks, [`at ${begun}`])
    await much.promise('one', 1)
    t.same(
      much.looks.slice(1),
      [`at ${begun + 9_000}`, `at ${begun + 9_000}`],
      'what others are told is looked for anew',
    )
    await much.clock.tick(1_000)
    await much.promise('one', 2)
    t.equal(much.looks.length, 3, 'what they were told of before is not')
    await much.clock.tick(10_000)
    await much.room()
    t.equal(much.looks.length, 4)
    const little = opened(freeMb - 12_288)
    await little.room()
    await little.clock.tick(400)
    await little.room()
    t.equal(little.looks.length, 1)
    await little.clock.tick(200)
    await little.room()
    t.equal(little.looks.length, 2, 'where little is left')
  },
)

t.test('what cannot be read lets nobody promise', async t => {
  const { root, pledges, freeMb } = box(t, 'a', 'b')
  const b = pledges('b')
  mkdirSync(join(root, 'run/a'), { recursive: true })
  for (const text of ['{"one":"many"}', '{'])
    await t.rejects((writeFileSync(join(root, 'run/a/promised.json'), text), b.promise('two', 1)), {
      code: 'driver_failed',
    })
  t.ok(freeMb > slackMb)
})
