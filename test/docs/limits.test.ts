/** docs/limits.md says what the code says: each number of the page beside the place it comes from. */
import { readFileSync } from 'node:fs'
import t from 'tap'

const root = new URL('../..', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

/** The first column of a row, and for each number in it the text on the page, the file and what stands there. */
const rows: Readonly<Record<string, readonly (readonly [said: string, file: string, code: string])[]>> = {
  name: [['49 lower-case', 'control/core/records/naming.ts', 'name.length > 49']],
  'display name, external id': [
    ['63 characters', 'control/core/records/metadata.ts', 'displayName: s.nullish(text(63))'],
    ['64 letters', 'control/core/records/metadata.ts', 's.maxLength(64)'],
  ],
  'memory of a sandbox': [
    ['64 to 262144 MB, 4096 unless', 'control/core/kinds/sandbox/spec.ts', '{ min: 64, max: 262_144, fallback: 4096 }'],
    ['2048 MB, at least a quarter', 'control/core/kinds/sandbox/plan.ts', 'Math.max(0.25, memoryMb / 2048)'],
  ],
  'disk of a sandbox (`storageMb`)': [
    ['half its memory', 'control/core/kinds/sandbox/stored.ts', 'Math.floor(memory / 2)'],
    ['32 to', 'control/core/kinds/sandbox/stored.ts', 'leastStorageMb = 32'],
    ['1048576 MB', 'control/core/kinds/sandbox/spec.ts', 'max: 1_048_576'],
    ['8 KiB', 'control/drivers/oci/disk/shape.ts', "'-i8192'"],
    ['422', 'shared/errors.ts', 'unprocessable: entry(422'],
  ],
  'disk of all sandboxes': [['503', 'control/drivers/oci/disk/pledges.ts', "fail('no_room'"]],
  'processes and threads of a sandbox': [['4096', 'control/base/config.ts', "'HUTCH_PIDS_LIMIT', { fallback: 4_096"]],
  'connections of a sandbox to the outside': [['4096', 'control/drivers/oci/net/connections.ts', 'most = 4_096']],
  'UDP of a sandbox with an outbound policy': [
    ['64 flows', 'control/network/egress/datagrams/flows.ts', 'const most = 64'],
    ['20000 datagrams a second in', 'control/drivers/oci/net/connections.ts', 'mostDatagrams = 20_000'],
    ['20000 both ways', 'control/network/egress/datagrams/flows.ts', 'createRate(deps, 20_000, 20_000)'],
  ],
  'environment of a sandbox (`envs`)': [
    ['131072 bytes', 'shared/variables.ts', 'variableBytes = 131_072'],
    ['1 MiB', 'shared/variables.ts', 'sandbox: 1024 * 1024'],
    ['8 bytes', 'shared/variables.ts', 'pointerBytes = 8'],
  ],
  "environment of a process (`env`), beside its sandbox's": [['512 KiB', 'shared/variables.ts', 'process: 512 * 1024']],
  'body on the management API': [['5 MiB', 'control/server/api/surface.ts', 'bodyLimit = 5 * 1024 * 1024']],
  'page of a list': [
    ['50,', 'control/core/records/define-kind.ts', 'fallback: 50, max: 200'],
    ['200;', 'control/core/records/define-kind.ts', 'fallback: 50, max: 200'],
    ['24 h', 'control/base/wire/cursors.ts', '24 * 3_600_000'],
  ],
  billing: [
    ['100 groups', 'control/core/metering/question.ts', 'Math.min(query.limit ?? 100, 100'],
    ['3 dimensions', 'control/core/metering/question.ts', 'length > 3'],
    [
      'hourly 7 d, daily 90 d, weekly 1 y',
      'control/core/metering/window.ts',
      "hourly: '7 days', daily: '90 days', weekly: '1 year'",
    ],
  ],
  'address and headers of a request': [
    ['64 KiB together at the host', 'control/server/serving.ts', 'maxHeadBytes = 64 * 1024'],
    ['1 MiB at a daemon', 'shared/http/server.ts', 'maxHeadBytes = 1024 * 1024'],
    ['30 s', 'shared/http/server.ts', 'headersTimeout: 30_000'],
  ],
  'idle connection': [['120 s', 'shared/http/server.ts', 'keepAliveTimeout: 120_000']],
  'JSON body in a sandbox': [
    ['512 MiB for files', 'shared/wire/filesystem.ts', 'anyBody = 512 * 1024 * 1024'],
    ['64 MiB elsewhere', 'shared/route.ts', 'bodyLimit ?? 64 * 1024 * 1024'],
    ['4 MiB on `/mcp`', 'shared/mcp/http.ts', 'maxBodyBytes = 4 * 1024 * 1024'],
  ],
  'file read as JSON': [['128 MiB', 'daemon/filesystem/read.ts', 'jsonReadLimit = 128 * 1024 * 1024']],
  'answer of a tool (MCP)': [
    ['a sixth', 'daemon/mcp/tool.ts', 'Math.floor(mostJsonBytes() / 2)'],
    ['64 MiB', 'daemon/mcp/tools/filesystem.ts', 'maxEditBytes = 64 * 1024 * 1024'],
  ],
  'search of a code base (grep)': [
    ['4 MiB', 'daemon/codegen/grep.ts', 'maxOutputBytes = 4 * 1024 * 1024'],
    ['100,000 places', 'daemon/codegen/pattern.ts', 'most: 100_000'],
    ['lines of 1 MiB', 'daemon/codegen/pattern.ts', 'longest: 1024 * 1024'],
  ],
  'tree with contents': [
    [
      '16 MiB of contents, 10000 entries, 32 levels',
      'daemon/filesystem/tree-contents.ts',
      '{ bytes: 16 * 1024 * 1024, entries: 10_000, depth: 32 }',
    ],
  ],
  'warnings in a header': [['20, 2 KiB', 'control/server/api/warnings.ts', 'warnings: 20, path: 120, bytes: 2_048']],
  'parts of an upload': [
    ['10000', 'daemon/multipart/routes.ts', 'maxPart = 10_000'],
    ['7 days', 'daemon/config/config.ts', "'HUTCH_UPLOAD_EXPIRY'] || '7d'"],
  ],
  'part of an upload without a file name': [['64 MiB', 'daemon/multipart/receive.ts', 'fieldLimit = 64 * 1024 * 1024']],
  'find, search': [
    ['20 results', 'daemon/filesystem/search/find.ts', 'limitOf(query.maxResults, 20)'],
    ['100;', 'daemon/filesystem/search/routes.ts', 'limitOf(query.maxResults, 100)'],
    ['at most 1000', 'daemon/filesystem/search/query.ts', 'maxResults = 1000'],
  ],
  'output of a process on disk': [
    ['32 MiB', 'daemon/config/config.ts', "'SANDBOX_MAX_LOG_FILE_BYTES'], 0, maxInteger, 32 * MiB"],
    ['a tenth', 'daemon/config/config.ts', "'SANDBOX_MAX_LOG_PERCENT'], 1, 100, 10"],
  ],
  'output in answers': [
    ['64 KiB', 'daemon/config/config.ts', "'SANDBOX_MAX_IN_MEMORY_LOG_BYTES'], 1, maxInteger, 64 * KiB"],
    ['4 MiB', 'daemon/config/config.ts', "'SANDBOX_MAX_LOGS_RESPONSE_BYTES'], 1, maxInteger, 4 * MiB"],
  ],
  'finished processes kept': [['10000', 'daemon/process/index.ts', 'keepFinished = 10_000']],
  'keep-alive process': [['600 s', 'daemon/process/start.ts', 'defaultKeepAliveSeconds = 600']],
  terminal: [
    ['100 KiB', 'daemon/terminal/replay.ts', 'limit = 100 * 1024'],
    ['10 idle minutes', 'daemon/terminal/sessions.ts', 'idleMs = 10 * 60_000'],
    ['256 sessions', 'daemon/terminal/session.ts', 'maxSessions = 256'],
    ['1 MiB typed', 'daemon/terminal/sessions.ts', 'maxPendingBytes = 1024 * 1024'],
    ['4 MiB', 'daemon/terminal/routes.ts', 'maxFrameBytes = 4 * 1024 * 1024'],
  ],
  'drives mounted in a sandbox': [['256', 'control/core/storage/drives/provider.ts', 'mostMounts = 256']],
  'sandboxes that wait for their machine': [
    ['50 s', 'control/core/transitions/waiting-line.ts', 'patienceMs = 50_000'],
    ['at least 100', 'control/core/transitions/waiting-line.ts', 'leastRoom = 100'],
  ],
  'sandboxes that end at once, where they have time to (`terminationGracePeriodSeconds`)': [
    ['16,', 'control/core/machines/terminate.ts', 'atOnce = 16'],
    ['32 a second', 'control/core/machines/terminate.ts', 'turnMs = 500'],
  ],
  'requests under way to one port of a sandbox': [
    ['256 of one client', 'control/core/channel/shares.ts', 'maxOfClient = 256'],
    ['2048 of all', 'control/core/channel/places.ts', 'maxOpen = 8 * maxOfClient'],
  ],
  'held request': [['60 s', 'control/core/machines/reach.ts', 'patienceMs = 60_000']],
  'outbound policy': [
    ['1000 patterns', 'control/core/kinds/sandbox/network/shape.ts', 'max = 1000'],
    ['200 routing rules', 'control/core/kinds/sandbox/network/shape.ts', 'routing: list(route, 200)'],
    ['1 MB merged', 'control/network/egress/http/inject.ts', 'maxMergedBody = 1024 * 1024'],
  ],
  'connections of a sandbox through the outbound proxy': [
    ['1024', 'control/network/egress/create.ts', 'connections: 1_024'],
    ['1000 events', 'control/network/egress/create.ts', 'events: 1_000'],
  ],
  'socket without traffic': [['15 minutes', 'control/server/proxy/gateway/splice.ts', 'silenceMs = 15 * 60_000']],
  'port 49151 in a sandbox': [['49151', 'shared/channel.ts', 'channelPort = 49_151']],
  'connections to it that have proved nothing': [
    ['64', 'daemon/channel/unproven.ts', 'maxUnproven = 64'],
    ['5 s', 'daemon/channel/unproven.ts', 'proveWithinMs = 5_000'],
  ],
  'heap of a daemon, soft': [
    ['20 %', 'daemon/config/config.ts', "'SANDBOX_MAX_HEAP_PERCENT'], 1, 100, 20"],
    ['64 MiB', 'daemon/config/config.ts', 'Math.max(64 * MiB'],
  ],
  'output of a daemon kept on the host': [['1 MiB', 'control/drivers/oci/trim-outputs.ts', 'mostBytes = 1024 * 1024']],
}

t.test('every row of the page is checked, every number is the one of the code', async t => {
  const lines = read('docs/limits.md')
    .split('\n')
    .filter(line => line.startsWith('| ') && !line.startsWith('| what'))
  const labels = lines.map(line => line.split(' | ')[0]?.slice(2))
  t.same(labels, Object.keys(rows), 'one entry here for each row of the page, in its order')
  for (const [label, places] of Object.entries(rows)) {
    const line = lines.find(candidate => candidate.startsWith(`| ${label} |`)) ?? ''
    for (const [said, file, code] of places) {
      t.ok(line.includes(said), `${label}: ${said}`)
      t.ok(read(file).includes(code), `${label}: ${file} says ${code}`)
    }
  }
})
