/** Replaces methods of one of a host's ports; what is not named stays as it is. */
export function replacePort<P extends object, K extends keyof P>(
  ports: P,
  port: K,
  make: (real: P[K]) => Partial<P[K]>,
): void {
  const real = ports[port];
  const replaced = make(real) as Record<PropertyKey, unknown>;
  const proxy = new Proxy(real as object, {
    get(target, name) {
      if (Object.hasOwn(replaced, name)) return replaced[name];
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  Object.assign(ports, { [port]: proxy });
}
