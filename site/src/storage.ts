/** The storage of the browser, which may refuse access to it. A choice then lasts until the page is closed. */
type KeptTexts = { read: (name: string) => string | null; write: (name: string, value: string) => void; remove: (name: string) => void };

const storageOf = (area: () => Storage): KeptTexts => {
  const attempt = <T>(use: (storage: Storage) => T): T | null => {
    try {
      return use(area());
    } catch {
      return null;
    }
  };
  return {
    read: (name) => attempt((storage) => storage.getItem(name)),
    write: (name, value) => void attempt((storage) => storage.setItem(name, value)),
    remove: (name) => void attempt((storage) => storage.removeItem(name)),
  };
};

export const siteStorage = storageOf(() => localStorage);
export const tabStorage = storageOf(() => sessionStorage);
