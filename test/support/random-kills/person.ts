/** Somebody with one sandbox after the other, who remembers what was answered and looks whether it is so. */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { ask, note, type Outcome, type World } from './world.ts'

/** Where the files are that are kept count of. */
const place = '/kept'
const patienceMs = 120_000

/** What a file may be: its checksum, undefined for none. More than one where nobody knows which. */
type Possible = readonly (string | undefined)[]

export interface Known {
  readonly name: string
  readonly files: Map<string, Possible>
  label: string
  storageMb: number
  memory: number
  /** Previews of it, by name. */
  readonly previews: Map<string, readonly boolean[]>
}

export interface Person {
  /** The sandbox that is there for certain. */
  has: Known | undefined
  /** Those whose deletion was answered. */
  readonly gone: string[]
  readonly live: () => Promise<void>
  /** Looks whether all of it is as it was answered. */
  readonly look: () => Promise<void>
  readonly clear: () => Promise<void>
}

const sumOf = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('hex')

/** Asks until it is answered, as anybody does for what can be repeated; undefined when that takes too long, which is odd. */
const insist = async (
  world: World,
  what: string,
  once: () => Promise<Outcome>,
): Promise<Outcome['answer'] | undefined> => {
  for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(200)) {
    const { is, answer } = await once()
    if (is === 'ok') return answer
  }
  world.odd.push(`${what} was not done in two minutes`)
  return undefined
}

const exec = async (world: World, name: string, command: string): Promise<Outcome> => {
  const from = Date.now()
  const outcome = await ask(world, 'exec', () =>
    world.s.call('POST', `/default/sandboxes/${name}/process`, { command, waitForCompletion: true }),
  )
  if (outcome.is === 'ok') world.used.push({ name, from, to: Date.now() })
  return outcome
}

const record = async (world: World, name: string, wanted: (body: Record<string, never>) => boolean) =>
  insist(world, `record of ${name}`, async () => {
    const outcome = await ask(world, 'record', () => world.s.call('GET', `/v0/sandboxes/${name}`), [404])
    return outcome.is === 'ok' && !wanted(outcome.answer?.body) ? { is: 'unsure' } : outcome
  })

/** Checksums of the files that are there, by name. */
export const filesIn = async (world: World, name: string): Promise<Map<string, string> | undefined> => {
  const answer = await insist(world, `files of ${name}`, () =>
    exec(world, name, `mkdir -p ${place}; cd ${place}; for f in *; do [ -f "$f" ] && sha256sum "$f"; done; true`),
  )
  if (!answer) return undefined
  const lines = String(answer.body.logs).trim().split('\n').filter(Boolean)
  return new Map(lines.map(line => line.split(/\s+/).toReversed().slice(-2) as [string, string]))
}

/** Whatever is there by now of what may be: from here on it is that. */
const lookAtFiles = async (world: World, known: Known): Promise<void> => {
  const there = await filesIn(world, known.name)
  if (!there) return
  const about = `start ${world.generation}: ${known.name}${place}`
  for (const [file, possible] of known.files) {
    const sum = there.get(file)
    if (!possible.includes(sum)) world.odd.push(`${about}/${file} is ${sum}, not ${possible.join(' or ')}`)
    known.files.set(file, [sum])
  }
  for (const file of there.keys())
    if (!known.files.has(file)) world.odd.push(`${about}/${file} is there, which nobody wrote`)
}

const lookAtRecord = async (world: World, known: Known): Promise<void> => {
  const { name } = known
  const answer = await record(world, name, body => body['status'] === 'DEPLOYED')
  if (!answer) return
  const { metadata, spec } = answer.body
  const is = { label: metadata.labels?.n ?? '', storageMb: spec.runtime.storageMb, memory: spec.runtime.memory }
  const was = { label: known.label, storageMb: known.storageMb, memory: known.memory }
  if (JSON.stringify(is) !== JSON.stringify(was))
    world.odd.push(`the record of ${name} is ${JSON.stringify(is)}, not ${JSON.stringify(was)}`)
}

const lookAtPreviews = async (world: World, known: Known): Promise<void> => {
  for (const [preview, possible] of known.previews) {
    const path = `/v0/sandboxes/${known.name}/previews/${preview}`
    for (;;) {
      const { is } = await ask(world, 'preview', () => world.s.call('GET', path), [404])
      if (is === 'unsure') continue
      if (!possible.includes(is === 'ok')) world.odd.push(`preview ${preview} of ${known.name}: ${is}`)
      known.previews.set(preview, [is === 'ok'])
      break
    }
  }
}

const lookAt = async (world: World, known: Known): Promise<void> => {
  await lookAtRecord(world, known)
  await lookAtFiles(world, known)
  await lookAtPreviews(world, known)
}

/** What was asked to go, and was answered: it is not there again. */
const lookAtGone = async (world: World, name: string): Promise<void> => {
  const { is, answer } = await ask(world, 'record', () => world.s.call('GET', `/v0/sandboxes/${name}`), [404])
  const { status } = answer?.body ?? {}
  if (is === 'ok' && !['DELETING', 'TERMINATED'].includes(status))
    world.odd.push(`${name} was deleted and is ${status}`)
}

export const person = (world: World, chance: Random, word: string): Person => {
  let seen = world.generation
  let count = 0
  const gone: string[] = []

  const look = async () => {
    seen = world.generation
    if (self.has) await lookAt(world, self.has)
    for (const name of gone.slice(-2)) await lookAtGone(world, name)
  }

  const create = async () => {
    const name = `${word}-${count++}`
    const runtime = { image: 'busybox', memory: 256, storageMb: 64 }
    // Whether it was made before the answer got lost is found out by asking for the same again.
    const answer = await insist(world, `create of ${name}`, () =>
      ask(world, 'create', () =>
        world.s.call('POST', '/v0/sandboxes?createIfNotExist=true', { metadata: { name }, spec: { runtime } }),
      ),
    )
    if (answer) self.has = { name, files: new Map(), label: '', storageMb: 64, memory: 256, previews: new Map() }
  }

  const put = (known: Known, body: object) =>
    ask(world, 'update', () =>
      world.s.call('PUT', `/v0/sandboxes/${known.name}`, { metadata: { name: known.name }, ...body }),
    )

  /** A change that is asked for until it is answered. */
  const change = async (known: Known, body: object, done: () => void) => {
    if (await insist(world, `update of ${known.name}`, () => put(known, body))) done()
  }

  /** Makes a file what `sum` says: until that is answered it may be either. */
  const make = async (known: Known, file: string, sum: string | undefined, act: () => Promise<Outcome>) => {
    const before = known.files.get(file) ?? [undefined]
    known.files.set(file, [...before, sum])
    const { is } = await act()
    if (is !== 'unsure') known.files.set(file, is === 'ok' ? [sum] : before)
  }

  const write = async (known: Known) => {
    const file = `f${chance.below(12)}`
    const content = chance.bytes(1 + chance.below(chance.below(8) === 0 ? 1_500_000 : 40_000))
    await make(known, file, sumOf(content), () => ask(world, 'write', () => putBytes(world, known.name, file, content)))
  }

  const print = async (known: Known) => {
    const file = `g${chance.below(12)}`
    const text = `${word} ${chance.below(1e9)}`
    // A new file that takes the name when it is whole.
    const command = `echo '${text}' > /new && mkdir -p ${place} && mv /new ${place}/${file}`
    await make(known, file, sumOf(`${text}\n`), async () => {
      const outcome = await exec(world, known.name, command)
      if (outcome.is === 'ok' && outcome.answer?.body.exitCode !== 0)
        world.odd.push(`a command of ${known.name} ends with ${JSON.stringify(outcome.answer?.body)}`)
      return outcome
    })
  }

  const unlink = async (known: Known) => {
    const there = [...known.files].flatMap(([file, [sum, ...more]]) => (sum && more.length === 0 ? [file] : []))
    if (there.length === 0) return
    const file = chance.pick(there)
    const path = `/default/sandboxes/${known.name}/filesystem/${place}/${file}`
    await make(known, file, undefined, () => ask(world, 'unlink', () => world.s.call('DELETE', path)))
  }

  const preview = async (known: Known) => {
    const name = `p${chance.below(4)}`
    const path = `/v0/sandboxes/${known.name}/previews`
    const before = known.previews.get(name) ?? [false]
    if (before.length !== 1) return
    const { is } = before[0]
      ? await ask(world, 'preview away', () => world.s.call('DELETE', `${path}/${name}`))
      : await ask(world, 'preview new', () =>
          world.s.call('POST', path, { metadata: { name }, spec: { port: 3000, public: true } }),
        )
    known.previews.set(name, is === 'ok' ? [!before[0]] : is === 'no' ? before : [true, false])
  }

  const remove = async (known: Known) => {
    self.has = undefined
    const removed = await insist(world, `delete of ${known.name}`, async () => {
      const outcome = await ask(
        world,
        'delete',
        () => world.s.call('DELETE', `/v0/sandboxes/${known.name}`),
        [404, 409],
      )
      // It was done when it was asked before.
      return outcome.is === 'no' && [404, 409].includes(outcome.answer?.status ?? 0)
        ? { ...outcome, is: 'ok' }
        : outcome
    })
    if (removed) gone.push(known.name)
  }

  const act = async (known: Known) => {
    const lot = chance.below(100)
    if (lot < 30) return write(known)
    if (lot < 50) return print(known)
    if (lot < 58) return unlink(known)
    if (lot < 72) {
      note(world, 'idle')
      // Some sleep long enough for the bill to be looked at.
      return sleep(chance.below(3) === 0 ? 6_000 + chance.below(2_000) : 1_200 + chance.below(1_500))
    }
    if (lot < 78) return preview(known)
    if (lot < 84) {
      const label = String(chance.below(1e6))
      return change(known, { metadata: { name: known.name, labels: { n: label } } }, () => (known.label = label))
    }
    if (lot < 89) {
      const storageMb = Math.min(512, known.storageMb + 32)
      return change(known, { spec: { runtime: { storageMb } } }, () => (known.storageMb = storageMb))
    }
    if (lot < 92) {
      const memory = known.memory === 256 ? 320 : 256
      // A machine of another size is another one, without the files.
      return change(known, { spec: { runtime: { memory } } }, () => {
        known.memory = memory
        known.files.clear()
      })
    }
    if (lot < 95) {
      await ask(world, 'restart', () => world.s.call('POST', `/v0/sandboxes/${known.name}/restart`), [409])
      return
    }
    return remove(known)
  }

  const self: Person = {
    has: undefined,
    gone,
    look,
    async live() {
      while (!world.over) {
        await world.up
        if (seen !== world.generation) await look()
        else if (self.has) await act(self.has)
        else await create()
      }
    },
    async clear() {
      if (self.has) await remove(self.has)
    },
  }
  return self
}

/** The bytes themselves: readers see the file as it was or all of it. */
const putBytes = async (world: World, name: string, file: string, content: Uint8Array) => {
  const { s } = world
  const answer = await fetch(new URL(`/default/sandboxes/${name}/filesystem/${place}/${file}`, s.url), {
    method: 'PUT',
    headers: { authorization: `Bearer ${s.key}`, 'content-type': 'application/octet-stream' },
    body: content,
  })
  const text = await answer.text()
  return { status: answer.status, text, body: JSON.parse(text) }
}
