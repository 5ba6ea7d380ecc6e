/**
 * A walk over every operation that clients of the management API expect, in an order in which each finds what it needs: what is asked, and
 * what the answer must be. `{name}` of a path is filled from `places`, or from what an earlier answer was kept as.
 */

/** A call and what must come back. */
export interface Step {
  /** As the list of operations has it. */
  readonly operation: string
  readonly query?: string
  readonly body?: unknown
  readonly version?: string
  /** Who asks, when it is not the admin of the workspace: somebody of the workspace `theirs` of another account. */
  readonly as?: 'rival' | 'rivalMember'
  /** Fills the path before `places` does. */
  readonly at?: Readonly<Record<string, string>>
  /** 200 unless given. */
  readonly status?: number
  /** Compared by `t.match`; a text is compared with the whole text. */
  readonly like?: object | string
  /** Headers of the answer. */
  readonly headers?: object
  /** Members that may not be there. */
  readonly without?: readonly string[]
  /** Keeps a member of the answer under a name of a path. */
  readonly keep?: readonly [member: string, name: string]
}

/** What the names in paths are, unless a step or an earlier answer says otherwise. */
export const places: Readonly<Record<string, string>> = {
  featureKey: 'proxy',
  subOrEmail: 'ada@example.com',
  workspaceName: 'team',
  agentName: 'a',
  functionName: 'f',
  modelName: 'm',
  sandboxName: 'web',
  previewName: 'p',
  tokenName: 't',
  jobId: 'j',
  applicationName: 'site',
  volumeTemplateName: 'tpl',
  versionName: 'v1',
  volumeName: 'v',
  driveName: 'd',
  externalId: 'ext-1',
  resourceType: '_',
  imageName: 'base',
  targetWorkspace: 'team',
  tagName: 'latest',
  vpcName: 'lab',
  gatewayName: 'out',
  ipName: 'one',
  domainName: 'apps.example.org',
  integrationName: 'openai',
  connectionName: 'c',
  modelId: 'one',
  policyName: 'pol',
  templateName: 'node-web',
  scheduleId: 's',
  snapshotId: 's',
  pendingShareId: 'none',
}

type Rest = Omit<Step, 'operation' | 'like'>

export const step = (operation: string, like?: Step['like'], rest: Rest = {}): Step => ({
  operation,
  ...(like === undefined ? {} : { like }),
  ...rest,
})

export const named = (name: string, spec: object = {}, metadata: object = {}) => ({
  metadata: { name, ...metadata },
  spec,
})

const times = { createdAt: /Z$/, updatedAt: /Z$/ }
const owned = { ...times, createdBy: String, updatedBy: String }

/** What every record of a kind with common metadata says. */
export const record = (name: string, spec: object = {}) => ({
  metadata: { name, workspace: 'default', ...owned },
  spec,
})

export const page = (first: object) => ({ data: [first], meta: { hasMore: false, nextCursor: '', total: 1 } })

export const error = (code: number, message?: RegExp) => ({ error: String, code, message: message ?? String })

export const refused = (operation: string, status: number, rest: Omit<Rest, 'status'> = {}): Step =>
  step(operation, error(status), {
    ...rest,
    status,
    ...(status === 409 ? { headers: { 'x-should-retry': 'false' } } : {}),
  })

export const old = '2026-04-16'

/** Kinds whose listings are pages from 2026-04-28 on, and whose records have the common metadata. */
export const common = (plural: string, parameter: string, name: string, spec: object): readonly Step[] => {
  const one = `/${plural}/{${parameter}}`
  return [
    refused(`POST /${plural}`, 400, { body: named('Not A Name') }),
    refused(`POST /${plural}`, 400, { body: named('x'.repeat(50)) }),
    step(`POST /${plural}`, record(name), { body: named(name, spec, { displayName: 'Shown', labels: { a: 'b' } }) }),
    refused(`POST /${plural}`, 409, { body: named(name, spec) }),
    step(`GET /${plural}`, page({ metadata: { name } })),
    step(`GET /${plural}`, [{ metadata: { name } }], { version: old }),
    step(`GET ${one}`, { ...record(name), metadata: { ...record(name).metadata, displayName: 'Shown' } }),
    refused(`GET ${one}`, 404, { at: { [parameter]: 'nobody' } }),
    step(`PUT ${one}`, record(name), { body: named(name, spec) }),
    refused(`PUT ${one}`, 404, { at: { [parameter]: 'nobody' }, body: named('nobody', spec) }),
    refused(`PUT ${one}`, 400, { body: { spec: 'text' } }),
  ]
}

export const statuses = (plural: string): readonly Step[] => [
  refused(`GET /${plural}`, 400, { query: '?status=NEVER' }),
  refused(`GET /${plural}`, 400, { query: '?status=NEVER', version: old }),
  step(`GET /${plural}`, undefined, { query: '?status=deployed,FAILED' }),
]

export const revisions = (operation: string): Step =>
  step(operation, [{ id: String, createdAt: /Z$/, createdBy: String }])
