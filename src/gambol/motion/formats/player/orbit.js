// Turning, moving and zooming the camera by mouse, pen and touch.

// One pointer turns, one with shift or another button moves, two move and zoom, the wheel zooms.
function orbit(canvas, camera, refresh) {
  const pointers = new Map();
  const middle = () => {
    const all = [...pointers.values()], n = all.length;
    const x = all.reduce((sum, p) => sum + p.x, 0) / n, y = all.reduce((sum, p) => sum + p.y, 0) / n;
    return { x, y, spread: n > 1 ? Math.hypot(all[0].x - all[1].x, all[0].y - all[1].y) : 0 };
  };
  const zoom = (factor) => { camera.distance = clamp(camera.distance * factor, 0.3, 200); };
  const move = (dx, dy) => {
    const { right, up } = cameraAxes(camera.azimuth, camera.elevation);
    const metres = (2 * camera.distance * Math.tan(camera.fieldOfView / 2)) / canvas.clientHeight;
    camera.target = add(camera.target, add(scaled(right, -dx * metres), scaled(up, dy * metres)));
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    const before = middle();
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    const after = middle(), dx = after.x - before.x, dy = after.y - before.y;
    if (pointers.size > 1) {
      move(dx, dy);
      if (after.spread > 0) zoom(before.spread / after.spread);
    } else if (event.shiftKey || event.buttons & 6) move(dx, dy);
    else {
      camera.azimuth -= 0.006 * dx;
      camera.elevation = clamp(camera.elevation - 0.006 * dy, -1.55, 0.6);
    }
    refresh();
  });
  for (const name of ["pointerup", "pointercancel"])
    canvas.addEventListener(name, (event) => pointers.delete(event.pointerId));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(clamp(event.deltaY * (event.deltaMode ? 18 : 1), -240, 240) * 0.0012));
    refresh();
  }, { passive: false });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
}
