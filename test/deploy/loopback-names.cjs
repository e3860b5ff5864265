/* Loaded before anything else by programs that call an emulator: names below `localhost` lead to this machine (RFC 6761), but few resolvers know. */
const dns = require('node:dns');

const { lookup } = dns;
dns.lookup = (hostname, ...others) => lookup(/\.localhost$/.test(hostname) ? '127.0.0.1' : hostname, ...others);
