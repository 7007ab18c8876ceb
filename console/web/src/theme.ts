import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";
const name = "memento theme";

function stored(): Theme {
  try {
    const t = localStorage.getItem(name);
    return t === "light" || t === "dark" ? t : "system";
  } catch {
    return "system"; // storage is forbidden
  }
}

export const nextTheme = (t: Theme): Theme => ({ system: "light", light: "dark", dark: "system" })[t] as Theme;

export function useTheme(): [Theme, (t: Theme) => void] {
  const [theme, set] = useState(stored);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(name, theme);
    } catch {
      // it holds for this page
    }
  }, [theme]);
  return [theme, set];
}
