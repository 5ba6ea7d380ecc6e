/**
 * The tables of errors and limits of the contract, a test for each row: "errors" and "limits" of the service, the codes of the data plane, and
 * the statuses that every operation shares. Secrets have a table of their own (kinds/secrets.test.ts), pages too (kinds/listings.test.ts).
 */
import t from 'tap'
import type { Answer } from '../../../support/call.ts'
import { control, type TestControl } from '../../../support/control.ts'
import { testHost } from '../../../support/whole-host.ts'

interface Row {
  readonly section: string
  readonly row: string
  readonly ask: (made: TestControl) => Promise<Answer>
  readonly answers: object
}

const dayMs = 86_400_000
const named = (name: string, metadata: object = {}, spec: object = {}) => ({ metadata: { name, ...metadata }, spec })

/** A question about cost that goes back so many days. */
const cost = async (
  { call, addKey, clock }: TestControl,
  query: string,
  days = 1,
  key: object | undefined = undefined,
) => {
  const end = clock.now()
  const window = `startTime=${new Date(end - days * dayMs).toISOString()}&endTime=${new Date(end).toISOString()}`
  const headers = key ? { authorization: `Bearer ${await addKey(key)}` } : {}
  return call('GET', `/accounts/default/metrics?${window}&${query}`, undefined, { headers })
}

const limited = async ({ call, addKey }: TestControl) =>
  call('POST', '/models', named('m'), {
    headers: { authorization: `Bearer ${await addKey({ scopes: ['models:list'] })}` },
  })

/** By its field, whether it is of the wrong form or makes no sense. */
const refused = ({ source }: RegExp) => ({
  status: 400,
  body: { error: /^invalid_(argument|body)$/, code: 400, message: new RegExp(source.replace('^', '(^|: )')) },
})

/** Made after so many of them. */
const after = async (path: string, count: number, made: TestControl): Promise<void> => {
  for (let n = 0; n < count; n++) await made.call('POST', path, path.endsWith('executions') ? {} : named(`n-${n}`))
}

const cursorAfter = async (made: TestControl, ms: number, query = ''): Promise<Answer> => {
  await after('/volumes', 2, made)
  const { meta } = (await made.call('GET', '/volumes?limit=1')).body
  await made.clock.tick(ms)
  return made.call('GET', `/volumes?limit=1&cursor=${meta.nextCursor}${query}`)
}

const ofErrors: readonly Omit<Row, 'section'>[] = [
  {
    row: '400 POST /models: invalid model configuration',
    ask: ({ call }) => call('POST', '/models', named('m', {}, { runtime: 'fast' })),
    answers: refused(/^spec\.runtime: /),
  },
  {
    row: '400 POST /models: integration connection not found',
    ask: ({ call }) => call('POST', '/models', named('m', {}, { integrationConnections: ['none'] })),
    answers: refused(/^spec\.integrationConnections.*none/),
  },
  {
    row: '401 POST /models: invalid credentials',
    ask: ({ call }) => call('POST', '/models', named('m'), { headers: { authorization: 'Bearer wrong' } }),
    answers: { status: 401, body: { error: 'unauthenticated', code: 401 }, headers: { 'www-authenticate': String } },
  },
  {
    row: '401 POST /models: missing credentials',
    ask: ({ call }) => call('POST', '/models', named('m'), { headers: { authorization: '' } }),
    answers: { status: 401, body: { error: 'unauthenticated', code: 401, message: /Bearer/ } },
  },
  { row: '403 POST /models: insufficient permissions', ask: limited, answers: { status: 403, body: { code: 403 } } },
  {
    row: '409 POST /models: a model with this name already exists',
    async ask({ call }) {
      await call('POST', '/models', named('m'))
      return call('POST', '/models', named('m'))
    },
    answers: { status: 409, body: { error: 'already_exists', code: 409 }, headers: { 'x-should-retry': 'false' } },
  },
  {
    row: '500 POST /models: internal server error',
    async ask({ call, store }) {
      // Whoever calls is remembered; what is written is not.
      await call('GET', '/models')
      await store.close()
      return call('POST', '/models', named('m'))
    },
    answers: { status: 500, body: { error: 'internal', code: 500, message: /^internal error \(request [\w-]+\)$/ } },
  },
  {
    row: '400 any request: unsupported version',
    ask: ({ call }) => call('GET', '/models', undefined, { headers: { 'svc-version': '2026-01-01' } }),
    answers: {
      status: 400,
      body: { error: 'invalid_api_version', message: /2026-01-01.*2026-04-16, 2026-04-28/ },
    },
  },
  {
    row: '400 billing: a resolution whose window exceeds its cap',
    ask: made => cost(made, 'resolution=hourly', 8),
    answers: { status: 400, body: { code: 400 } },
  },
  ...['workspace=default', 'groupBy=workspace', 'groupBy=resource_type,workspace'].map(query => ({
    row: `403 billing: ${query} by who is no account admin`,
    ask: (made: TestControl) => cost(made, query, 1, { role: 'admin' }),
    answers: { status: 403, body: { code: 403, message: /Access denied/ } },
  })),
  {
    row: 'a cursor of another query',
    ask: made => cursorAfter(made, 0, '&q=other'),
    answers: refused(/^cursor: /),
  },
]

const ofLimits: readonly Omit<Row, 'section'>[] = [
  ...(
    [
      ['a'.repeat(49), 200],
      ['a'.repeat(50), 400],
      ['Upper', 400],
      ['under_score', 400],
      ['-a', 400],
    ] as const
  ).map(([name, status]) => ({
    row: `metadata.name of ${name.length}: ${name.slice(0, 12)}`,
    ask: ({ call }: TestControl) => call('POST', '/volumes', named(name)),
    answers: status === 200 ? { status } : refused(/^metadata\.name: /),
  })),
  ...([63, 64] as const).map(length => ({
    row: `metadata.displayName of ${length}`,
    ask: ({ call }: TestControl) => call('POST', '/volumes', named('v', { displayName: 'ü'.repeat(length) })),
    answers: length === 63 ? { status: 200 } : refused(/^metadata\.displayName: /),
  })),
  ...(
    [
      ['a-B-9'.padEnd(64, 'x'), 200],
      ['x'.repeat(65), 400],
      ['a_b', 400],
      ['a b', 400],
    ] as const
  ).map(([externalId, status]) => ({
    row: `metadata.externalId of ${externalId.length}: ${externalId.slice(0, 5)}`,
    ask: ({ call }: TestControl) => call('POST', '/volumes', named('v', { externalId })),
    answers: status === 200 ? { status } : refused(/^metadata\.externalId: /),
  })),
  {
    row: 'job execution q: 200 characters',
    async ask(made) {
      await made.call('POST', '/jobs', named('j'))
      return made.call('GET', `/jobs/j/executions?q=${'x'.repeat(201)}`)
    },
    answers: refused(/^q: /),
  },
  {
    row: 'job execution q: one letter filters nothing',
    async ask(made) {
      await made.call('POST', '/jobs', named('j'))
      await made.call('POST', '/jobs/j/executions', {})
      return made.call('GET', '/jobs/j/executions?q=%20z')
    },
    answers: { status: 200, body: { data: [{}] } },
  },
  ...([0, 101] as const).map(limit => ({
    row: `job execution limit=${limit}`,
    async ask(made: TestControl) {
      await made.call('POST', '/jobs', named('j'))
      return made.call('GET', `/jobs/j/executions?limit=${limit}`)
    },
    answers: limit === 0 ? refused(/^limit: /) : { status: 200 },
  })),
  { row: 'cursor age: 24 hours', ask: made => cursorAfter(made, dayMs), answers: { status: 200 } },
  { row: 'cursor age: beyond', ask: made => cursorAfter(made, dayMs + 1), answers: refused(/^cursor: /) },
  {
    row: 'billing groupBy: three dimensions',
    ask: made => cost(made, 'groupBy=workspace,resource_type,billing_dimension'),
    answers: { status: 200 },
  },
  {
    row: 'billing groupBy: four',
    ask: made => cost(made, 'groupBy=workspace,resource_type,resource_name,billing_dimension'),
    answers: refused(/groupBy/),
  },
  {
    row: 'billing groupBy: twice the same',
    ask: made => cost(made, 'groupBy=resource_type,resource_type'),
    answers: refused(/groupBy/),
  },
  ...['label', 'unit', 'colour'].map(dimension => ({
    row: `billing groupBy: ${dimension}`,
    ask: (made: TestControl) => cost(made, `groupBy=${dimension}`),
    answers: refused(/groupBy/),
  })),
  ...(
    [
      ['hourly', 7],
      ['daily', 90],
      ['weekly', 365],
    ] as const
  ).flatMap(([resolution, most]) =>
    [most, most + 2].map(days => ({
      row: `billing ${resolution}: ${days} days`,
      ask: (made: TestControl) => cost(made, `resolution=${resolution}`, days),
      answers: { status: days === most ? 200 : 400 },
    })),
  ),
  { row: 'billing monthly: unbounded', ask: made => cost(made, 'resolution=monthly', 4_000), answers: { status: 200 } },
]

const rows: readonly Row[] = [
  ...ofErrors.map(row => ({ section: 'errors', ...row })),
  ...ofLimits.map(row => ({ section: 'limits', ...row })),
]

for (const { section, row, ask, answers } of rows)
  t.test(`${section}: ${row}`, async t => {
    const answer = await ask(await control(t))
    t.match(answer, answers, answer.text.slice(0, 300))
    if (answer.status >= 400) t.match(answer.body, { error: String, code: answer.status, message: String })
  })

t.test('limits: pages of a listing have 50 items, at most 200, and those of executions 20 and 100', async t => {
  const made = await control(t)
  await after('/volumes', 201, made)
  await made.call('POST', '/jobs', named('j'))
  await after('/jobs/j/executions', 101, made)
  const length = async (path: string) => (await made.call('GET', path)).body.data.length
  t.same(
    [await length('/volumes'), await length('/volumes?limit=200'), await length('/volumes?limit=201')],
    [50, 200, 200],
  )
  t.same(
    await Promise.all(['', '?limit=100', '?limit=101'].map(query => length(`/jobs/j/executions${query}`))),
    [20, 100, 100],
  )
})

t.test('the codes of the data plane', async t => {
  const { host, api, until } = await testHost(t)
  const { url } = await host.listen()
  const key = { authorization: `Bearer ${host.first.adminKey}` }
  const spec = { runtime: { image: 'busybox' } }
  for (const name of ['web', 'off']) {
    t.equal((await api('POST', '/sandboxes', { metadata: { name }, spec })).status, 200)
    await until(name, 'DEPLOYED')
  }
  await api('PUT', '/sandboxes/off', { spec: { enabled: false } })
  await until('off', 'DEACTIVATED')
  await api('POST', '/workspaces', { name: 'other' })
  const { body: service } = await api('POST', '/service_accounts?workspace=other', { name: 'ci' })
  const { apiKey } = (
    await api('POST', `/service_accounts/${service.client_id}/api_keys?workspace=other`, { name: 'k' })
  ).body
  for (const [code, status, path, headers, retryable] of [
    ['ROUTE_NOT_FOUND', 404, '/nothing/here', key, false],
    ['WORKSPACE_NOT_FOUND', 404, '/none/sandboxes/web/health', key, false],
    ['WORKLOAD_NOT_FOUND', 404, '/default/sandboxes/none/health', key, false],
    ['WORKLOAD_UNAVAILABLE', 404, '/default/sandboxes/off/health', key, false],
    ['AUTHENTICATION_REQUIRED', 401, '/default/sandboxes/web/health', {}, false],
    ['AUTHENTICATION_FAILED', 401, '/default/sandboxes/web/health', { authorization: 'Bearer wrong' }, false],
    ['FORBIDDEN', 403, '/default/sandboxes/web/health', { authorization: `Bearer ${apiKey}` }, false],
    ['UPSTREAM_FAILED', 502, '/default/sandboxes/web/port/1/', key, true],
  ] as const) {
    const answer = await fetch(`${url}${path}`, { headers })
    const body = (await answer.json()) as object
    t.match(
      {
        status: answer.status,
        source: answer.headers.get('x-svc-source'),
        said: answer.headers.get('x-svc-error-code'),
        body,
      },
      {
        status,
        source: 'platform',
        said: code,
        body: {
          error: {
            code,
            status,
            retryable,
            origin: 'platform',
            message: String,
            action: String,
            do_not: String,
            docs_url: String,
            timestamp: /Z$/,
          },
        },
      },
      code,
    )
  }
})

/** What every operation of a family can answer (create, list, get, update, delete) is in the document. */
t.test('the statuses of every operation', async t => {
  const { call } = await control(t)
  const { paths } = (await call('GET', '/openapi.json')).body
  const wanted = { post: [200, 400, 401, 403, 409, 500], get: [200, 401, 403, 500] } as const
  const one = {
    get: [200, 401, 403, 404, 500],
    put: [200, 400, 401, 403, 404, 500],
    delete: [200, 401, 403, 404, 500],
  } as const
  for (const plural of ['agents', 'functions', 'models', 'sandboxes', 'volumes', 'applications', 'jobs']) {
    const [all, single] = Object.keys(paths)
      .filter(path => new RegExp(`^/v0/${plural}(/\\{[^}]+\\})?$`).test(path))
      .toSorted()
    for (const [path, of] of [
      [all, wanted],
      [single, one],
    ] as const)
      for (const [method, statuses] of Object.entries(of))
        t.hasProps(paths[path as string]?.[method]?.responses ?? {}, statuses.map(String), `${method} ${path}`)
  }
})
