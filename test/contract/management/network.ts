/** Networks, domains, what the operator lists; and the end of all that the others have made. */
import { named, refused, step, type Step } from './step.ts'

const gateways = '/vpcs/{vpcName}/egressgateways'
const gateway = `${gateways}/{gatewayName}`
const address = `${gateway}/ips/{ipName}`
const domain = '/customdomains/{domainName}'

export const network: readonly Step[] = [
  step('GET /vpcs', [{ metadata: { name: 'default' } }]),
  step('POST /vpcs', { metadata: { name: 'lab' }, spec: {}, status: 'DEPLOYED' }, { body: named('lab') }),
  refused('POST /vpcs', 409, { body: named('lab') }),
  step('GET /vpcs/{vpcName}', { metadata: { name: 'lab' } }),
  step(
    `POST ${gateways}`,
    { metadata: { name: 'out', vpcName: 'lab' }, spec: { region: 'local' }, status: 'DEPLOYED' },
    {
      body: named('out', { region: 'local' }),
    },
  ),
  refused(`POST ${gateways}`, 400, { body: named('no') }),
  step(`GET ${gateways}`, [{ metadata: { name: 'out' } }]),
  step(`GET ${gateway}`, { metadata: { name: 'out', vpcName: 'lab' } }),
  step(
    `POST ${gateway}/ips`,
    {
      metadata: { name: 'one', vpcName: 'lab', gatewayName: 'out' },
      spec: { ipFamily: 'IPv4', publicIp: '203.0.113.1' },
    },
    {
      body: named('one'),
    },
  ),
  step(`GET ${gateway}/ips`, [{ metadata: { name: 'one' } }]),
  step(`GET ${address}`, { spec: { publicIp: '203.0.113.1' }, status: 'DEPLOYED' }),
  step('GET /egressgateways', [{ metadata: { name: 'out' } }]),
  step('GET /egressgateways/usage', { out: [] }),
  step('GET /egressips', [{ metadata: { name: 'one' } }]),
  step('GET /publicIps', {}),
  refused('DELETE /vpcs/{vpcName}', 409),
  refused(`DELETE ${gateway}`, 409),
  step(`DELETE ${address}`, { metadata: { name: 'one' } }),
  step(`DELETE ${gateway}`, { metadata: { name: 'out' } }),
  step('DELETE /vpcs/{vpcName}', { metadata: { name: 'lab' } }),
  refused('DELETE /vpcs/{vpcName}', 404),
  step(
    'POST /customdomains',
    { metadata: { name: 'apps.example.org' }, spec: { status: 'pending', cnameRecords: String, txtRecords: Object } },
    {
      body: named('apps.example.org', { domainType: 'previews' }),
    },
  ),
  refused('POST /customdomains', 409, { body: named('apps.example.org') }),
  step('GET /customdomains', [{ metadata: {} }, { metadata: {} }]),
  step(`GET ${domain}`, { metadata: { name: 'apps.example.org' } }),
  step(
    `PUT ${domain}`,
    { metadata: { displayName: 'Ours' } },
    {
      body: named('apps.example.org', {}, { displayName: 'Ours' }),
    },
  ),
  refused(`POST ${domain}/share`, 409, { body: { targetWorkspace: 'team' } }),
  step(`POST ${domain}/verify`, { spec: { status: 'verified' } }),
  step(`POST ${domain}/share`, { metadata: { name: 'apps.example.org' } }, { body: { targetWorkspace: 'team' } }),
  refused(`POST ${domain}/share`, 400, { body: {} }),
  step(`GET ${domain}/share`, [{ workspace: 'team', status: 'active' }]),
  step(`DELETE ${domain}/share/{targetWorkspace}`, { metadata: { name: 'apps.example.org' } }),
  refused(`DELETE ${domain}/share/{targetWorkspace}`, 404),
  step(`DELETE ${domain}`, { metadata: { name: 'apps.example.org' } }),
]

export const shipped: readonly Step[] = [
  step('GET /changelog', { entries: [] }, { headers: { 'cache-control': /max-age/ } }),
  step('GET /configuration', {
    regions: [{ name: 'local', egressAvailable: true }],
    continents: [],
    countries: [],
    detectedRegion: 'local',
  }),
  step('GET /locations', [{ region: 'local', status: 'healthy', flavors: [{ type: 'cpu' }] }]),
  step('GET /templates', [{ name: String, topics: Array }]),
  step('GET /templates/{templateName}', { name: 'node-web' }),
  refused('GET /templates/{templateName}', 404, { at: { templateName: 'nobody' } }),
]

/** Every delete that answers with the last record, and the 404 after it. */
export const end: readonly Step[] = [
  ...(
    [
      ['models', 'modelName', 'm'],
      ['agents', 'agentName', 'a'],
      ['functions', 'functionName', 'f'],
      ['jobs', 'jobId', 'j'],
      ['applications', 'applicationName', 'site'],
      ['integrations/connections', 'connectionName', 'c'],
      ['policies', 'policyName', 'pol'],
    ] as const
  ).flatMap(([plural, parameter, name]) => [
    step(`DELETE /${plural}/{${parameter}}`, { metadata: { name } }),
    refused(`DELETE /${plural}/{${parameter}}`, 404, { at: { [parameter]: 'nobody' } }),
  ]),
  step('DELETE /workspaces/{workspaceName}', { name: 'team' }),
  refused('DELETE /workspaces/{workspaceName}', 404),
]
