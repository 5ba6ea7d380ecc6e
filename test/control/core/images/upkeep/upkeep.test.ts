import t from 'tap'
import { imageUpkeep, type UpkeepDeps } from '../../../../../control/core/images/upkeep/upkeep.ts'
import { closing } from '../../../../../shared/closing.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { fakeClock } from '../../../../support/clock.ts'

const reference = (name: string) => `ghcr.io/${name}:1`

/** Workspaces `here` and `gone` (which is not there any more), with a record `web` made of image `used`. */
const made = () => {
  const clock = fakeClock()
  const pulled = new Map([
    ['here', new Set([reference('used'), reference('idle'), reference('shared')])],
    ['gone', new Set([reference('idle')])],
  ])
  const collected: string[][] = []
  const records = [
    { uid: 'w', name: 'web', workspace: 'here', status: 'FAILED', spec: { image: 'used' } },
    { uid: 'o', name: 'old', workspace: 'here', status: 'OVER', spec: { image: 'idle' } },
    { uid: 's', name: 'stranger', workspace: 'other', status: 'UP', spec: { image: 'idle' } },
  ]
  const deps = {
    clock,
    log: silentLog,
    store: {
      resources: { everyOf: async () => records },
      instances: { digests: async () => new Set(['d1']) },
      tenants: { workspace: async (name: string) => (name === 'gone' ? undefined : { name }) },
    },
    rules: new Map([
      [
        'box',
        {
          kind: 'box',
          hiddenStatuses: ['OVER'],
          workload: { image: (one: { spec: { image: string } }) => one.spec.image },
        },
      ],
      ['plain', { kind: 'plain', hiddenStatuses: [] }],
    ]),
    images: {
      remoteName: reference,
      offered: async () => new Set(['ghcr.io/shared']),
      trees: async () => [],
      keyOf: reference,
      built: { workspaces: async () => [], list: async () => [] },
      collect: async (inUse: ReadonlySet<string>) => {
        collected.push([...inUse])
        return []
      },
      pulling: {
        workspaces: async () => [...pulled.keys()],
        list: async (workspace: string) => [...(pulled.get(workspace) ?? [])].map(one => ({ reference: one })),
        remove: async (workspace: string, one: string) => void pulled.get(workspace)?.delete(one),
      },
    },
  } as unknown as UpkeepDeps
  const closer = closing({ log: silentLog })
  return { upkeep: imageUpkeep(deps, closer), deps, clock, pulled, collected, closer }
}

t.test('what a record is made of stays, also one that failed; what is over needs nothing', async t => {
  const { upkeep, deps, pulled, collected } = made()
  const all = await deps.images.pulling.list('here')
  await t.rejects(upkeep.remove('here', all), {
    code: 'invalid_argument',
    message: 'imageName: "ghcr.io/used:1" is in use by box web',
  })
  t.equal(pulled.get('here')?.size, 3, 'and then nothing goes')
  t.equal(await upkeep.removeUnused('here'), 1)
  t.same([...(pulled.get('here') ?? [])], [reference('used'), reference('shared')], 'what is shared is in use')
  t.same(collected, [['d1']], 'trees of machines that the records have are in use')
})

t.test('every hour what nobody needs is collected, and what deleted workspaces had', async t => {
  const { clock, pulled, collected, closer } = made()
  await clock.tick(3_600_000)
  t.same([pulled.get('gone')?.size, pulled.get('here')?.size], [0, 3])
  t.equal(collected.length, 1)
  await closer.close()
  await clock.tick(7_200_000)
  t.equal(collected.length, 1)
})
