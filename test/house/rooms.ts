/**
 * The rooms of the tree, from the ground up, and the rooms each may import besides its own files. A person maintains this
 * list: a new arrow is a decision, and a room names only rooms above it, so there are no circles.
 *
 * A room is a folder with everything below it that is no room of its own, or a single file. The longest name that fits a
 * file is its room.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  shared: [],

  'daemon/native': ['shared'],
  'daemon/node-internals': ['shared', 'daemon/native'],
  daemon: ['shared', 'daemon/native', 'daemon/node-internals'],

  'control/base': ['shared'],
  'control/core/store': ['shared', 'control/base'],
  // The seam: what a driver is. Its implementations are rooms further down.
  'control/drivers': ['shared', 'control/base'],
  'control/core/secrets': ['shared', 'control/base', 'control/core/store'],
  'control/core/access': ['shared', 'control/base', 'control/core/store', 'control/core/secrets'],
  'control/core/catalogues': ['shared'],
  'control/core/channel': ['shared', 'control/base', 'control/core/store', 'control/drivers'],
  'control/core/metering': ['shared', 'control/base', 'control/core/store'],
  'control/core/transitions': ['shared', 'control/core/store', 'control/drivers'],
  'control/core/images': ['shared', 'control/base'],
  'control/core/runtime': ['shared', 'control/base', 'control/core/images'],
  'control/core/images/upkeep': [
    'shared',
    'control/core/store',
    'control/core/images',
    'control/core/runtime',
    'control/core/transitions',
  ],
  'control/core/records': [
    'shared',
    'control/base',
    'control/core/store',
    'control/core/access',
    'control/core/secrets',
    'control/core/catalogues',
    'control/core/transitions',
  ],
  'control/core/machines': [
    'shared',
    'control/base',
    'control/core/store',
    'control/drivers',
    'control/core/channel',
    'control/core/images',
    'control/core/transitions',
  ],
  'control/core/storage': ['shared', 'control/base', 'control/core/store', 'control/drivers', 'control/core/channel'],
  'control/core/kinds': [
    'shared',
    'control/base',
    'control/core/store',
    'control/core/access',
    'control/core/secrets',
    'control/core/images',
    'control/core/machines',
    'control/core/records',
    'control/core/transitions',
  ],
  'control/core/scheduler': [
    'shared',
    'control/core/store',
    'control/core/secrets',
    'control/core/channel',
    'control/core/kinds',
    'control/core/machines',
    'control/core/transitions',
  ],

  'control/drivers/oci': ['shared', 'control/base', 'control/drivers'],
  'control/drivers/fake': ['shared', 'control/drivers'],
  'control/drivers/index.ts': ['shared', 'control/drivers', 'control/drivers/oci', 'control/drivers/fake'],

  'control/network/egress': ['shared', 'control/base'],
  'control/network/outbound': [
    'shared',
    'control/base',
    'control/core/store',
    'control/drivers',
    'control/core/secrets',
    'control/core/transitions',
    'control/network/egress',
  ],

  'control/ops': [
    'shared',
    'control/base',
    'control/core/store',
    'control/drivers',
    'control/drivers/oci',
    'control/core/access',
    'control/core/runtime',
    'control/core/machines',
  ],

  'control/server/web/html': ['shared'],
  'control/server/access': [
    'shared',
    'control/core/store',
    'control/core/access',
    'control/core/secrets',
    'control/core/transitions',
    'control/server/web/html',
  ],
  'control/server/mcp': ['shared', 'control/base', 'control/core/store', 'control/core/access'],
  'control/server/tls': ['shared', 'control/base', 'control/core/secrets', 'control/network/egress'],
  'control/server/proxy': [
    'shared',
    'control/base',
    'control/core/store',
    'control/core/access',
    'control/core/secrets',
    'control/core/channel',
    'control/core/kinds',
    'control/core/machines',
    'control/core/records',
    'control/core/storage',
    'control/core/transitions',
    'control/server/web/html',
  ],
  'control/server/web': [
    'shared',
    'control/core/store',
    'control/core/secrets',
    'control/core/records',
    'control/server/web/html',
    'control/server/proxy',
  ],
  'control/server/api': [
    'shared',
    'control/base',
    'control/core/store',
    'control/drivers',
    'control/core/access',
    'control/core/catalogues',
    'control/core/images',
    'control/core/images/upkeep',
    'control/core/kinds',
    'control/core/machines',
    'control/core/metering',
    'control/core/records',
    'control/network/egress',
    'control/ops',
    'control/server/web/html',
    'control/server/access',
    'control/server/mcp',
    'control/server/proxy',
  ],
  'control/server': ['shared', 'control/base', 'control/server/proxy', 'control/server/tls', 'control/server/web'],

  'control/library': [
    'shared',
    'control/base',
    'control/core/store',
    'control/core/channel',
    'control/core/images',
    'control/core/kinds',
    'control/core/machines',
    'control/core/records',
    'control/core/storage',
  ],
  // The composition root: the only room that sees all of them.
  'control/host': ['shared', 'control'],
  'control/index.ts': [
    'shared',
    'control/base',
    'control/core/records',
    'control/server/api',
    'control/library',
    'control/host',
  ],
  'control/cli': ['shared', 'control'],
  'control/main.ts': ['shared', 'control/cli'],

  'images/clean': ['control/core/runtime'],
  'images/runtime': ['shared', 'control/core/runtime'],
  'images/package': ['control/core/images', 'control/server/web/html', 'images/runtime'],
}

const names = Object.keys(rooms).toSorted((a, b) => b.length - a.length)

/** The room a file is in; undefined for a file that is in none. */
export const roomOf = (file: string): string | undefined =>
  names.find(name => file === name || file.startsWith(`${name}/`))
