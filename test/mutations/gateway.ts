/** Defences of the gateway, where bodies pass it unread. */
import type { Defence } from './defence.ts'

const hostile = 'test/control/server/proxy/gateway/hostile.test.ts'
const browser = 'test/control/server/proxy/gateway/browser.test.ts'
const newcomers = 'test/control/server/proxy/gateway/newcomers.test.ts'
const reach = 'test/control/server/api/reach.test.ts'
const serving = 'control/server/serving.ts'
const credential = 'control/server/proxy/gateway/credential.ts'
const headers = 'control/server/proxy/gateway/headers.ts'
const splice = 'control/server/proxy/gateway/splice.ts'

export const gatewayDefences: readonly Defence[] = [
  {
    name: 'an answer goes on being moved when nobody waits for it any more',
    file: 'control/server/proxy/gateway/direct/answer-state.ts',
    text: '  state.stopMoving?.()\n',
    instead: '',
    test: hostile,
  },
  {
    name: 'an answer that breaks off reads as whole',
    file: 'control/server/proxy/gateway/direct/answering.ts',
    text: '    if (isWhole) answered(state, !hasMore)\n',
    instead: '    if (isWhole || true) answered(state, !hasMore)\n',
    test: hostile,
  },
  {
    name: 'a part that was not moved counts as moved',
    file: 'control/base/relay/move.ts',
    text: 'isWhole: delivered === bytes',
    instead: 'isWhole: true',
    test: 'test/control/base/relay/move.test.ts',
  },
  {
    name: 'a key in the query counts beside the terminal',
    file: credential,
    text: 'if (cut < 0 || !isTerminal(place))',
    instead: 'if (cut < 0)',
    test: browser,
  },
  {
    name: 'a key in the query counts at the terminal of a port',
    file: credential,
    text: '  port === undefined && target',
    instead: '  target',
    test: browser,
  },
  {
    name: 'the terminal sees what is in its query',
    file: credential,
    text: "  search.delete('token')\n",
    instead: '',
    test: browser,
  },
  {
    name: 'the key that came by a header stays in the query',
    file: credential,
    text: 'target: withoutKey(target, own)',
    instead: 'target',
    test: browser,
  },
  {
    name: 'the key in both headers reaches an application',
    file: credential,
    text: ' || (own !== undefined && bearerOf(headers.authorization) === own)',
    instead: '',
    test: browser,
  },
  {
    name: 'a second header with the key reaches an application',
    file: headers,
    text: "    if (name === 'authorization' && authorizations++ > 0) continue\n",
    instead: '',
    test: browser,
  },
  {
    name: 'our own header reaches an application',
    file: credential,
    text: "...names.filter(name => name !== 'authorization'), ",
    instead: '',
    test: 'test/control/server/proxy/gateway/gateway.test.ts',
  },
  {
    name: 'an application is told of an address with a ticket',
    file: headers,
    text: " || search.has('ticket')",
    instead: '',
    test: browser,
  },
  {
    name: 'a refusal tells its address',
    file: 'control/server/proxy/gateway/errors.ts',
    text: ", 'referrer-policy': 'no-referrer' }",
    instead: ' }',
    test: browser,
  },
  {
    name: 'pages tell their address',
    file: 'control/server/web/html/page.ts',
    text: "  'referrer-policy': 'no-referrer',\n",
    instead: '',
    test: browser,
  },
  {
    name: 'the key at the terminal is told to where it leads',
    file: 'control/server/proxy/gateway/terminal.ts',
    text: "'referrer-policy': 'no-referrer', ",
    instead: '',
    test: browser,
  },
  {
    name: 'a key in a wrong address is logged',
    file: 'control/server/proxy/gateway/gateway.ts',
    text: "${request.url ?? ''}`.split('?', 1)[0] as string",
    instead: "${request.url ?? ''}`",
    test: browser,
  },
  {
    name: 'a refused upgrade leaves a pipe',
    file: splice,
    text: "    if (!agreed) return await passRefusal(socket, message, headers)\n    socket.write(headText(message, headers), 'latin1')\n    if (agreed.length > 0) socket",
    instead: "    socket.write(headText(message, headers), 'latin1')\n    if (agreed?.length) socket",
    test: browser,
  },
  {
    name: 'what follows the request for an upgrade is sent at once',
    file: splice,
    text: '    const { message, agreed } = await shake',
    instead: '    setTimeout(() => far.write(head), 5)\n    const { message, agreed } = await shake',
    test: hostile,
  },
  {
    name: 'what follows the request for an upgrade is kept without end',
    file: splice,
    text: '    if (size > maxEarlyBytes) end()\n',
    instead: '',
    test: hostile,
  },
  {
    name: 'heads are long',
    file: serving,
    text: 'const maxHeadBytes = 64 *',
    instead: 'const maxHeadBytes = 640 *',
    test: browser,
  },
  {
    name: 'strangers are many',
    file: serving,
    text: "  server.on('connection', deps.newcomers.add)\n",
    instead: '',
    test: newcomers,
  },
  {
    name: 'handshakes are many',
    file: serving,
    text: '    handshakes.add(socket)\n',
    instead: '',
    test: newcomers,
  },
  {
    name: 'strangers are many by TLS',
    file: serving,
    text: '    newcomers.add(socket)\n',
    instead: '',
    test: 'test/control/server/proxy/gateway/newcomers.soak.ts',
  },
  {
    name: 'strangers are many where plain HTTP is led on',
    file: serving,
    text: "  redirect.on('connection', createNewcomers().add)\n",
    instead: '',
    test: newcomers,
  },
  {
    name: 'who is known to the gateway counts as a stranger',
    file: 'control/server/proxy/gateway/admit.ts',
    text: '  context.admitted(request.socket)\n',
    instead: '',
    test: newcomers,
  },
  {
    name: 'the newest stranger goes',
    file: 'control/server/proxy/gateway/newcomers.ts',
    text: 'const [oldest] = waiting',
    instead: 'const oldest = [...waiting].at(-1)',
    test: newcomers,
  },
  {
    name: 'lists tell of other workspaces',
    file: 'control/server/api/caller.ts',
    text: '      needReach(key, found)\n',
    instead: '',
    test: reach,
  },
  {
    name: "a bill of one workspace can be asked for another's",
    file: 'control/core/metering/question.ts',
    text: 'const about = caller.workspace ?? workspace',
    instead: 'const about = workspace',
    test: reach,
  },
  {
    name: 'keys count when their time is over',
    file: 'control/core/access/keys.ts',
    text: "    if (key.expiresAt !== null && key.expiresAt <= clock.now())\n      throw fail('unauthenticated', { reason: 'the API key has expired' })\n",
    instead: '',
    test: reach,
  },
]
