/** Every list, and everything else that can be read, asked with every kind of key: nothing is told of what the key does not reach. */
import t from 'tap'
import type { ApiKey } from '../../../../control/core/store/store.ts'
import type { Route } from '../../../../shared/route.ts'
import { control, type TestControl } from '../../../support/control.ts'
import { exampleNamed, makeExample, withoutMachines } from '../../../support/kinds.ts'
import { instanceOf, putInstance, record } from '../../../support/records.ts'

/** Accounts and the workspaces in them; each holds one of every kind, whose names tell where it is. */
const places = { default: ['here', 'beside'], elsewhere: ['far'] } as const
const workspaces = Object.values(places).flat()
type Workspace = (typeof workspaces)[number]

const metered = { startTime: '2026-01-01T00:00:00Z', endTime: '2026-01-02T00:00:00Z' }

/** One of every kind that can be made, and an hour of a machine. */
const fill = async (made: TestControl, workspace: Workspace, key: string): Promise<void> => {
  const { store, clock, kinds } = made
  const inside: TestControl = {
    ...made,
    call: (method, target, body, options) =>
      made.call(method, target, body, {
        ...options,
        headers: { authorization: `Bearer ${key}`, 'x-svc-workspace': workspace },
      }),
  }
  for (const kind of withoutMachines(kinds.values())) {
    if (!kind.verbs.includes('create')) continue
    const { collection } = await makeExample(inside, kind, undefined)
    await inside.call('POST', collection, exampleNamed(kind, `in-${workspace}`))
  }
  const owner = record({ uid: `uid-${workspace}`, name: `billed-${workspace}`, workspace, createdAt: clock.now() })
  await putInstance(store, instanceOf(owner), [{ dimension: 'sandbox_compute_runtime_gbs', quantity: 2 }])
}

interface Asker {
  readonly key: string
  readonly reaches: readonly Workspace[]
  /** The only status it may get. */
  readonly only?: number
}

const askersOf = async (made: TestControl): Promise<Record<string, Asker>> => {
  const { addKey, clock, store } = made
  const far = { account: 'elsewhere' }
  const all: Partial<ApiKey> = { role: 'admin', accountAdmin: true }
  const revoked = await addKey({ ...all, id: 'revoked' })
  await store.tenants.removeApiKey('revoked')
  return {
    'admin of the account': { key: await addKey(all), reaches: places.default },
    'member of the account': { key: await addKey({}), reaches: places.default },
    'admin of one workspace': { key: await addKey({ role: 'admin', workspace: 'beside' }), reaches: ['beside'] },
    'admin of the account, bound to one workspace': {
      key: await addKey({ ...all, workspace: 'beside' }),
      reaches: ['beside'],
    },
    'member of one workspace': { key: await addKey({ workspace: 'beside' }), reaches: ['beside'] },
    'admin of another account': { key: await addKey({ ...all, ...far }), reaches: places.elsewhere },
    'member of another account': { key: await addKey({ ...far, workspace: 'far' }), reaches: places.elsewhere },
    'key of a workspace that is gone': { key: await addKey({ ...all, workspace: 'gone' }), reaches: [] },
    'revoked key': { key: revoked, reaches: [], only: 401 },
    'expired key': { key: await addKey({ ...all, expiresAt: clock.now() }), reaches: [], only: 401 },
  }
}

interface Asked {
  readonly target: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What is asked of a route about a workspace: of what is named after it, and for each way to sort the bill. */
const asksOf = (route: Route, workspace: Workspace, account: string): Asked[] => {
  const path = route.path
    .replace(/^\/v0/, '')
    .replace(':accountId', account)
    .replace(':workspaceName', workspace)
    .replace(/:\w+/g, `in-${workspace}`)
  if (path.includes('/metrics'))
    return ['resource_name', 'workspace', 'resource_uuid', ''].flatMap(groupBy => {
      const asked = { ...metered, ...(groupBy && { groupBy }) }
      return [asked, { ...asked, workspace }].map(all => ({ target: `${path}?${new URLSearchParams(all)}` }))
    })
  return [
    { target: `${path}?${new URLSearchParams({ workspace, limit: '100' })}` },
    { target: path, headers: { 'x-svc-workspace': workspace } },
    ...(workspace === workspaces[0] ? [{ target: path }] : []),
  ]
}

/** What lies in a workspace tells so in its own name; accounts and workspaces are known by theirs. */
const namesOf = (some: readonly string[]): RegExp =>
  some.length === 0 ? /^\b$/ : new RegExp(`(?:"|in-|uid-|billed-)(?:${some.join('|')})\\b`)

/** What the audit repeats of what a key has asked for. */
const repeated = /credential does not reach workspace \\"\w+\\"/g

/** What goes wrong with one who asks for all there is. */
const wrongFor = async (made: TestControl, { key, reaches, only }: Asker, routes: readonly Route[]) => {
  const foreign = namesOf(workspaces.filter(name => !reaches.includes(name)))
  const wrong: string[] = []
  // Who gets in nowhere is asked for no more than one.
  for (const route of routes)
    for (const [account, inside] of Object.entries(places))
      for (const { target, headers } of only === undefined
        ? inside.flatMap(one => asksOf(route, one, account))
        : asksOf(route, inside[0], account).slice(0, 1)) {
        const all = { authorization: `Bearer ${key}`, ...headers }
        const { status, text } = await made.call('GET', target, undefined, { headers: all })
        // A refusal repeats what was asked for.
        const isRight =
          only === undefined
            ? [400, 401, 403, 404, 424].includes(status) ||
              (status === 200 && !foreign.test(text.replace(repeated, '')))
            : status === only
        if (!isRight) wrong.push(`${target} ${headers ? 'by header' : ''}: ${status} ${text.slice(0, 500)}`)
      }
  return wrong
}

/** How many of the routes name what lies in a workspace to who reaches it. */
const countTelling = async (made: TestControl, routes: readonly Route[]): Promise<number> => {
  const key = await made.addKey({ role: 'admin', workspace: 'beside' })
  let told = 0
  for (const route of routes) {
    const [asked] = asksOf(route, 'beside', 'default')
    const headers = { authorization: `Bearer ${key}` }
    const { text } = await made.call('GET', asked?.target ?? '', undefined, { headers })
    if (namesOf(['beside']).test(text)) told++
    else if (route.path.endsWith('/:accountId/metrics')) throw new Error(`no bill: ${text}`)
  }
  return told
}

t.test('nobody is told of what their key does not reach', async t => {
  const made = await control(t, { egressAddresses: ['192.0.2.1'] })
  for (const [account, inside] of Object.entries(places))
    for (const workspace of inside) {
      await made.addWorkspace(workspace, account)
      await fill(made, workspace, await made.addKey({ role: 'admin', accountAdmin: true, account }))
    }
  await made.clock.tick(3_600_000)
  const routes = made.api.bounds.map(({ route }) => route).filter(({ method, open }) => method === 'GET' && !open)
  t.ok(routes.length > 30)
  t.ok((await countTelling(made, routes)) > 30, 'most tell who may know')
  for (const [who, asker] of Object.entries(await askersOf(made))) t.same(await wrongFor(made, asker, routes), [], who)
})
